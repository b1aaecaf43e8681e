import { expect, test } from "vitest";
import { oneInstance } from "../one-instance";

/** Shows the image and the flavor in lists by name, and elsewhere by id. */
const spelling = (now: Readonly<Record<string, unknown>>, place: "item" | "object"): object =>
  place === "item" ? now : { ...now, image: `img-${now.image}`, flavor: `flv-${now.flavor}` };

test("an instance that only a list has shown after its creation isn't replaced if a GET shows its image in another form", async () => {
  const behaviour = { operationMs: 0, lagIn: "reads", lagMs: 1_000, spelling } as const;
  const { service, web } = await oneInstance({ behaviour });
  expect(await web.up()).toBeUndefined();
  const { id } = web.inState();
  await service.clock.advance(60_000);
  await web.refresh();
  expect(await web.up()).toBeUndefined();
  expect(await web.expectOne()).toBe(id);
  await web.refresh();
  expect(web.inState().inputs).toMatchObject({ image: "debian-13", flavor: "m1.small" });
});
