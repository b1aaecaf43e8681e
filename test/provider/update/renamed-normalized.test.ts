import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../../src/emulator";
import { oneInstance } from "../one-instance";

/** A service that derives ids from names, and returns names in lower case and trimmed. */
const NORMALIZING = { ids: "slug", idsFollowNames: true, normalize: ["lower-case", "trimmed"] } as const;

/** The ways in which the service may answer the update that renames the instance. */
const answers: readonly (Partial<Behaviour> & { readonly lost?: true })[] = [
  {},
  { putReply: 204 },
  { putReply: 202 },
  { putReply: 204, lost: true },
];

describe.each(answers)(
  "an instance that gets another id with a new name that is normalized: %j",
  (answer) => {
    async function renamed() {
      const { lost, ...behaviour } = answer;
      const { service, web } = await oneInstance({ behaviour: { ...NORMALIZING, ...behaviour } });
      await web.up({ name: "Web" });
      if (lost) service.emulator.fail({ method: "PUT", kind: "lost-reply" });
      expect(await web.up({ name: "Front " })).toContain("it exists under the id front");
      return { service, web };
    }

    test("is deleted under the new id", async () => {
      const { service, web } = await renamed();
      expect(await web.destroy()).toBeUndefined();
      expect(service.emulator.instances.size).toBe(0);
    });

    test("is found by a refresh", async () => {
      const { web } = await renamed();
      await web.refresh();
      expect(await web.up({ name: "Front " })).toBeUndefined();
      expect(await web.expectOne()).toBe("front");
    });

    test("is deleted if it is replaced", async () => {
      const { service, web } = await renamed();
      expect(await web.up({ name: "Front ", image: "debian-14" })).toBeUndefined();
      expect([...service.emulator.instances.keys()]).toEqual([web.inState().id]);
    });
  },
);
