import { expect, it } from "vitest";
import { clientOf, inTurn, startService } from "./service";

it("many requests use no more connections than may be under way at once", async () => {
  const { origin, seen, connections } = await startService(inTurn({ body: { items: [] } }));
  const { client, call } = clientOf(origin, { concurrency: 4 });
  await Promise.all(Array.from({ length: 200 }, () => client.projects.list(call)));
  expect([seen.length, connections()]).toEqual([200, 4]);
});
