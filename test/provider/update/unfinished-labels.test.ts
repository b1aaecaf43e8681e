import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { oneInstance } from "../one-instance";
import type { Service } from "../service";

const SHORT = { __timeouts: { update: "10s" } };

const there = ({ emulator }: Service): Properties => [...emulator.instances.values()][0]?.fields ?? {};

/** Somebody else has set values. The program asks for the same ones, but gets no reply to its update, which is made or not. */
async function unanswered(theirs: Properties, asked: Properties, { isMade = false } = {}) {
  const { service, web } = await oneInstance();
  const { emulator } = service;
  await web.up(SHORT);
  emulator.edit(web.inState().id, theirs);
  await web.refresh();
  const fail = async (news: Properties, kind: "lost-reply" | "status") => {
    const puts = () => emulator.requests.filter(({ method }) => method === "PUT").length;
    const before = puts();
    const times = Number.POSITIVE_INFINITY;
    const fault = emulator.fail({ method: "PUT", kind, times });
    const outage = emulator.fail({ method: "GET", kind: "status", when: () => puts() > before, times });
    expect(await web.up({ ...SHORT, ...news })).toContain("Run `pulumi up` again");
    fault.off();
    outage.off();
  };
  await fail(asked, isMade ? "lost-reply" : "status");
  return { service, web, fail };
}

describe("a label that somebody else had set before an update whose outcome is unknown", () => {
  const team = { labels: { team: "a" } };
  const both = { labels: { team: "a", tier: "b" } };

  test.each(["at once", "after a refresh"])("is kept if the program is reverted: %s", async (when) => {
    const { service, web } = await unanswered(team, team);
    if (when === "after a refresh") await web.refresh();
    expect(await web.up(SHORT)).toBeUndefined();
    expect(there(service).labels).toEqual(team.labels);
    await web.expectOne();
  });

  test("is kept if somebody also adds another one", async () => {
    const { service, web } = await unanswered(team, both);
    service.emulator.edit(web.inState().id, { labels: { team: "a", cost: "9" } });
    expect(await web.up(SHORT)).toBeUndefined();
    expect(there(service).labels).toEqual({ team: "a", cost: "9" });
  });

  test("is kept, and the program's own label is removed, if the update was applied", async () => {
    const { service, web } = await unanswered(team, both, { isMade: true });
    expect(there(service).labels).toEqual(both.labels);
    expect(await web.up(SHORT)).toBeUndefined();
    expect(there(service).labels).toEqual(team.labels);
    await web.expectOne();
  });

  test("belongs to the program if the program still declares it", async () => {
    const { service, web } = await unanswered(team, both, { isMade: true });
    expect(await web.up({ ...SHORT, ...both })).toBeUndefined();
    expect(web.inState().state).toMatchObject(both);
    expect(await web.up(SHORT)).toBeUndefined();
    expect(there(service).labels).toEqual({});
  });

  test("isn't confused with a label that an earlier update has set", async () => {
    const { service, web, fail } = await unanswered({}, team, { isMade: true });
    await fail(both, "status");
    expect(await web.up(SHORT)).toBeUndefined();
    expect(there(service).labels).toEqual({});
  });
});
