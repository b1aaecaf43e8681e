import { describe, expect, test } from "vitest";
import { changed, existingInstance, failureOf } from "../service";
import { type RacedService, startRaced } from "./raced-service";

/** A service that returns revisions only in lists. */
function startListing(): Promise<RacedService> {
  return startRaced({
    behaviour: {
      revision: "body",
      spelling: ({ revision, ...instance }, place) =>
        place === "item" ? { ...instance, revision } : instance,
    },
  });
}

const sent = ({ emulator }: RacedService) => emulator.requests.filter(({ method }) => method === "PUT");

/** Calls an action after the next list of instances. */
function afterList(service: RacedService, action: () => void): void {
  service.after("GET", ({ path }) => (path === "/v1/instances" ? action() : afterList(service, action)));
}

describe("an update at a service that returns revisions only in lists", () => {
  test("sends the revision in the list", async () => {
    const service = await startListing();
    const saved = await existingInstance(service, { labels: { team: "web" } });
    const revision = service.emulator.instances.get(saved.id)?.revision;
    const { outs } = await service.updated(saved, { flavor: "m1.large" });
    expect(sent(service).map(({ headers }) => headers["if-match"])).toEqual([`"${revision}"`]);
    await service.instances.update(saved.id, outs, changed(saved, { flavor: "m1.tiny" }));
    expect(service.puts()).toEqual([200, 200]);
    expect(service.fieldsOf(saved)).toMatchObject({ flavor: "m1.tiny", labels: { team: "web" } });
  });

  test("keeps an unmanaged label that another client has set since the list was read", async () => {
    const service = await startListing();
    const saved = await existingInstance(service);
    afterList(service, () => service.emulator.edit(saved.id, { labels: { owner: "ops" } }));
    await service.updated(saved, { flavor: "m1.large" });
    expect(service.fieldsOf(saved)).toMatchObject({ flavor: "m1.large", labels: { owner: "ops" } });
  });

  test.each(["before", "after"])(
    "is a conflict if a client changes the instance %s the list is read",
    async (when) => {
      const service = await startListing();
      const saved = await existingInstance(service);
      const edit = (): void => service.emulator.edit(saved.id, { flavor: "m1.tiny" });
      if (when === "before") edit();
      else afterList(service, edit);
      const { message } = await failureOf(service.updated(saved, { flavor: "m1.large" }));
      expect(message).toContain("another client changed flavor");
      expect(service.fieldsOf(saved).flavor).toBe("m1.tiny");
    },
  );
});
