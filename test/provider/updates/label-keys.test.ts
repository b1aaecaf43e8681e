import { expect, test } from "vitest";
import type { Properties } from "../../../src/provider/host";
import { madeInstance } from "../service";
import { startRaced } from "./raced-service";

const inSmallLetters = (labels: unknown): Properties =>
  Object.fromEntries(Object.entries(Object(labels)).map(([key, value]) => [key.toLowerCase(), value]));

test("labels whose keys the service shows in small letters are changed and removed", async () => {
  const service = await startRaced({
    behaviour: { spelling: (now) => ({ ...now, labels: inSmallLetters(now.labels) }) },
  });
  const saved = await madeInstance(service, { labels: { Team: "web" } });
  const { outs } = await service.updated(saved, { labels: { Team: "api" } });
  expect(outs).toMatchObject({ labels: { Team: "api" } });
  expect("__words" in outs).toBe(false);
  expect((await service.instances.read(saved.id, outs)).inputs).toMatchObject({ labels: { Team: "api" } });
  await service.updated(saved, { labels: {} }, outs);
  expect(service.fieldsOf(saved).labels).toEqual({});
});

test("labels in small letters that an older version didn't recognize are no conflict", async () => {
  const service = await startRaced();
  const saved = await madeInstance(service, { labels: { Team: "web" } });
  service.emulator.edit(saved.id, { labels: { team: "web" } });
  const state = { ...saved.state, __words: { labels: {} } };
  await service.updated(saved, { labels: { Team: "api" } }, state);
  expect(service.fieldsOf(saved).labels).toEqual({ Team: "api" });
});
