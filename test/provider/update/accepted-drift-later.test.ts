import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import { oneInstance } from "../one-instance";

const MINUTES = 60_000;

/** Somebody changes the network, and a refresh accepts the change. */
async function withDrift(behaviour: Partial<Behaviour>) {
  const { service, web } = await oneInstance({ behaviour: { normalize: ["ids"], ...behaviour } });
  expect(await web.up({ network: "backend" })).toBeUndefined();
  service.emulator.edit(web.inState().id, { network: "default" });
  await service.clock.advance(5 * MINUTES);
  await web.refresh();
  return { service, web };
}

describe.each([
  ["a GET that lags", { lagIn: "reads", lagMs: 1_000 }],
  ["a list that lags, and no GET", { lagIn: "lists", lagMs: 10_000, getObject: 405 }],
] as const)("after drift at a service with ids, %s,", (_name, lag) => {
  test.each([204, 202] as const)(
    "a third value counts as set only once it is shown: PUT %d",
    async (putReply) => {
      const { service, web } = await withDrift({ putReply, ...lag });
      const news = { network: "front" };
      expect(await web.up(news)).toBeUndefined();
      await service.clock.advance(5 * MINUTES);
      await web.refresh();
      expect(web.inState().inputs).toMatchObject(news);
      expect(await web.up({ network: "backend" })).toBeUndefined();
      expect(await web.up(news)).toBeUndefined();
    },
  );
});

test("a value that somebody has already set counts as set at the deadline if the PUT's reply is a 202 without an operation", async () => {
  const { web } = await withDrift({ putReply: 202, acceptedReply: "bare" });
  const news = { network: "default" };
  expect(await web.up(news)).toBeUndefined();
  await web.refresh();
  expect(web.inState().inputs).toMatchObject(news);
});
