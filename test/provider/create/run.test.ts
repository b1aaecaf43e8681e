import { describe, expect, onTestFinished, test, vi } from "vitest";
import { CloudInfraError } from "../../../src/diagnostics/error";
import { instanceKind } from "../../../src/model/resource-fields";
import { parseDesired } from "../../../src/model/state";
import { deadlineIn } from "../../../src/polling/clock";
import type { Context } from "../../../src/provider/context";
import { create } from "../../../src/provider/create";
import { nextKey } from "../../../src/provider/create/run";
import { callTo } from "../fake-call";
import { FakeService } from "../fake-service";
import { instanceNews, KEY } from "../samples";
import { failureOf } from "../service";

/** A service whose operations name their object and have no link to it; it waits for nobody. */
function finished(call: Context): Context {
  const { client } = call.session;
  const done = { id: "op-1", url: `${client.endpoint}/operations/op-1`, status: "done", resource: "ins-1" };
  const session: Context["session"] = {
    ...call.session,
    client: {
      ...client,
      instances: { ...client.instances, create: async () => ({ kind: "operation", operation: done }) },
      operations: { ...client.operations, poll: async () => done },
      resultId: (operation) => operation.resource,
      readResult: async () => {
        throw new CloudInfraError("no_result", "operation op-1 has no link to its result");
      },
    },
  };
  return { ...call, session };
}

test("the object of an operation that names it without a link is looked up", async () => {
  const fake = new FakeService();
  fake.addProject("prj-1");
  fake.addInstance("ins-1", "prj-1");
  expect(await create(finished(callTo(fake, instanceKind)), parseDesired(instanceNews()))).toMatchObject({
    id: "ins-1",
  });
});

describe("the object of a resumed creation that the list doesn't show yet", () => {
  const resumed = async (ms: number): Promise<{ failure: Error; begun: string[] }> => {
    const fake = new FakeService();
    fake.getAnswer = "405";
    fake.addProject("prj-1");
    fake.addInstance("ins-1", "prj-1");
    fake.unlisted.add("ins-1");
    const begun: string[] = [];
    const { session, ...call } = finished(callTo(fake, instanceKind));
    const begin = vi.spyOn(session.journal, "begin");
    begin.mockImplementation(async ({ key }) => void begun.push(key));
    onTestFinished(() => begin.mockRestore());
    const news = parseDesired(instanceNews());
    const pending = {
      key: KEY,
      body: "{}",
      at: Date.now(),
      operation: { id: "op-1", url: "/v1/operations/op-1" },
    };
    const placeholder = {
      endpoint: session.client.endpoint,
      kind: "instance",
      id: "operation/op-1",
    } as const;
    session.tracker.recordDiff(news.urn, placeholder, { pending }, true);
    const late = { ...call, session, deadline: deadlineIn(ms, session.clock) };
    return { failure: await failureOf(create(late, news)), begun };
  };

  test("is not created twice at the deadline, and its id is in the state", async () => {
    const { failure, begun } = await resumed(3_000);
    expect(failure).toMatchObject({ code: "timeout", id: "ins-1", outs: { pending: { key: KEY } } });
    expect(failure.message).toContain("did not return it before the deadline");
    expect(begun).toEqual([]);
  });

  test("is recreated if the list doesn't show it for 30 s", async () => {
    expect((await resumed(300_000)).begun).toEqual([nextKey(KEY)]);
  });
});
