import { describe, expect, test } from "vitest";
import type { Page } from "../../../src/api/client";
import { instanceKind } from "../../../src/model/resource-fields";
import { deadlineIn } from "../../../src/polling/clock";
import { ObjectFinder } from "../../../src/provider/lookup/object-finder";
import { FakeClock } from "../../polling/fake-clock";
import { FakeService } from "../fake-service";

/** A list that two calls wait for, and that comes when the test says so. */
function sharedList() {
  const fake = new FakeService();
  const client = fake.client();
  const clock = new FakeClock();
  let come: () => void = () => {};
  async function* pages() {
    yield await new Promise<Page>((resolve) => {
      come = () => resolve({ objects: [{ id: "ins-1", fields: {}, revision: undefined }], isLast: true });
    });
  }
  const slow = { ...client, instances: { ...client.instances, pages } };
  const finder = new ObjectFinder(slow, clock, 600_000);
  const look = (ms: number, signal?: AbortSignal) =>
    finder.findInList(
      { kind: instanceKind, id: "ins-1", project: "prj-1" },
      { deadline: deadlineIn(ms, clock), signal },
    );
  return { clock, look, come: () => come() };
}

describe("a list that several calls share", () => {
  test("is awaited by each call until its own deadline", async () => {
    const { clock, look, come } = sharedList();
    const first = look(300_000);
    const hasty = look(5_000).catch((error: unknown) => error);
    await clock.advance(5_000);
    expect(await hasty).toMatchObject({
      code: "timeout",
      summary: "timed out after 5 s listing instances",
    });
    come();
    expect(await first).toMatchObject({ found: { id: "ins-1" } });
  });

  test("doesn't delay a call that is interrupted", async () => {
    const { look } = sharedList();
    const ending = new AbortController();
    const told = look(300_000, ending.signal).catch((error: unknown) => error);
    ending.abort(new Error("SIGTERM"));
    expect(await told).toMatchObject({ code: "aborted" });
  });
});
