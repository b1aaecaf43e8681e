import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { LoggedRequest } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import { HostError } from "../../../src/provider/host";
import { changed, existingInstance, startService } from "../service";
import { type ForeignEdit, MOMENTS, NEXT, Others, OURS } from "./foreign-edits";

/** How many races are run; 1,000 take about a minute. */
const RACES = Number(process.env.CLOUDINFRA_TEST_RACES ?? 100);

const foreignEdit = fc.record<ForeignEdit>({
  moment: fc.constantFrom(...MOMENTS),
  target: fc.constantFrom(
    ...["name", "flavor", "network", "publicIp", "sshKeys", "label:team", "label:tier"],
    ...["label:theirs", "label:also", "status", "revision", "backup"],
  ),
  asWanted: fc.boolean(),
});

const race = fc.record({
  /** The properties that our update changes. */
  changes: fc.subarray(Object.keys(NEXT), { minLength: 1 }),
  edits: fc.array(foreignEdit, { maxLength: 3 }),
  fault: fc.constantFrom(undefined, "lost-reply", "reset", "truncate"),
  putReply: fc.constantFrom(200 as const, 204 as const, 202 as const),
  revision: fc.constantFrom("both" as const, "header" as const, "body" as const, "weak" as const),
  getObject: fc.constantFrom(200 as const, 405 as const),
  forgetsRevision: fc.boolean(),
});

interface Figures {
  refused: number;
  done: number;
  conflictsShown: number;
}

test(`in ${RACES} races nobody's change is overwritten, hidden or lost, and all converge after a refresh`, async () => {
  let listener: (request: LoggedRequest) => void = () => {};
  const shared = await startService({ onRequest: (request) => listener(request) });
  const { emulator } = shared;
  const project = emulator.addProject().id;
  const figures: Figures = { refused: 0, done: 0, conflictsShown: 0 };

  await fc.assert(
    fc.asyncProperty(race, async ({ changes, edits, fault, forgetsRevision, ...behaviour }) => {
      listener = () => {};
      // What a process has learnt of one service must not reach into the next race.
      const service = { ...shared, ...(await shared.newProviders()) };
      Object.assign(emulator.behaviour, { ...behaviour, operationMs: 10 });
      const saved = await existingInstance(service, { ...OURS, project, __key: randomUUID() });
      const state = { ...saved.state, ...(forgetsRevision && { revision: undefined }) };
      const wanted = { ...OURS, ...Object.fromEntries(changes.map((name) => [name, NEXT[name]])) };
      const theirs = new Others(service, saved, wanted);

      theirs.act(edits, "before");
      if (fault) emulator.fail({ method: "PUT", path: `/v1/instances/${saved.id}`, kind: fault });
      listener = theirs.watching(edits);
      const news = changed(saved, wanted);
      const ended = await service.instances.update(saved.id, state, news).catch((error: unknown) => error);
      listener = () => {};
      theirs.expectKept();

      const isRefused = ended instanceof Error;
      figures[isRefused ? "refused" : "done"] += 1;
      if (isRefused) {
        expect(ended).toBeInstanceOf(HostError);
        expect(theirs.seen.size, ended.message).toBeGreaterThan(0);
        figures.conflictsShown += theirs.expectShown(ended.message);
      }
      const after = isRefused ? state : outsOf(ended);
      if (!isRefused) expect(after).toMatchObject(wanted);

      // A refresh shows every change that is not by chance the wanted one …
      const seen = await service.instances.read(saved.id, after);
      theirs.expectRefreshed({ ...seen.inputs });
      // … and the next `up` puts it right, with all that is none of our business kept.
      const outs = outsOf(await service.instances.update(saved.id, { ...seen.props }, news));
      expect(outs).toMatchObject(wanted);
      theirs.expectPutRight();
      const again = await service.instances.read(saved.id, outs);
      expect(again.inputs).toMatchObject(wanted);
      expect(await service.instances.diff(saved.id, { ...again.props }, news)).toMatchObject({
        changes: false,
      });
    }),
    {
      numRuns: RACES,
      ...(process.env.CLOUDINFRA_TEST_SEED && { seed: Number(process.env.CLOUDINFRA_TEST_SEED) }),
    },
  );
  if (RACES >= 1_000) console.log(JSON.stringify(figures));
  expect(figures.done).toBeGreaterThan(0);
  expect(figures.refused).toBeGreaterThan(0);
  expect(figures.conflictsShown).toBeGreaterThanOrEqual(figures.refused);
});

function outsOf(ended: unknown): Properties {
  if (ended instanceof Error) throw ended;
  return { ...Object(Object(ended).outs) };
}
