import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { changed, existingInstance, failureOf, type Saved, type Service, startService } from "../service";
import { rowsOf } from "./conflict-table-rows";

/** What a refresh of several resources saves: it looks into the list, where an instance has no revision. */
async function refreshed(service: Service, { id }: Saved, state: Properties): Promise<Properties> {
  const { instances } = await service.newProviders();
  const [one] = await Promise.all([instances.read(id, state), instances.read(id, state)]);
  return { ...one?.props };
}

describe("somebody else's value of a property that the program sets for the first time", () => {
  test.each([
    ["a label", { labels: { owner: "theirs" } }, { labels: { team: "web", owner: "us" } }, "labels.owner"],
    ["an address", { public_ip: "198.51.100.1" }, { publicIp: "auto" }, "publicIp"],
  ])(
    "%s: is a conflict until a refresh has seen it, even without a revision",
    async (_what, edit, more, property) => {
      const service = await startService({ behaviour: { revision: "header" } });
      const saved = await existingInstance(service, { labels: { team: "web" } });
      const news = changed(saved, more);
      const { id } = saved;
      const update = (state: Properties): Promise<unknown> => service.instances.update(id, state, news);

      service.emulator.edit(id, edit);
      const { message } = await failureOf(update(saved.state));
      expect(rowsOf(message).map(([name]) => name)).toContain(property);
      // A refresh changes nothing that the program doesn't manage.
      expect(message.replaceAll(/\s+/g, " ")).toContain(
        "To apply the program's values, run `pulumi refresh`, then `pulumi up`",
      );
      const seen = await refreshed(service, saved, saved.state);
      // Once more, and nobody knows of it.
      const theirs = { labels: { owner: "again" }, public_ip: "198.51.100.2" };
      service.emulator.edit(id, theirs);
      expect((await failureOf(update(seen))).message).toContain("another client changed");
      await update(await refreshed(service, saved, seen));
      expect(service.emulator.instances.get(id)?.fields).not.toMatchObject(
        property === "publicIp" ? { public_ip: theirs.public_ip } : { labels: theirs.labels },
      );
    },
  );

  test("is in the state only if it exists, and only as a digest", async () => {
    const service = await startService();
    const saved = await existingInstance(service, { labels: { team: "web" } });
    expect("__unmanaged" in saved.state).toBe(false);
    service.emulator.edit(saved.id, { labels: { team: "web", owner: "theirs" } });
    const seen = await refreshed(service, saved, saved.state);
    expect(seen.__unmanaged).toEqual({ labels: expect.stringMatching(/^[0-9a-f]{12}$/) });
    expect(await refreshed(service, saved, seen)).toEqual(seen);
    // An item of a list that does not carry the field says nothing about it.
    service.emulator.behaviour.extraFields = { labels: undefined };
    expect((await refreshed(service, saved, seen)).__unmanaged).toEqual(seen.__unmanaged);
  });
});
