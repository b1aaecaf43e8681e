import { confirm } from "../../src/journal/entry";
import type { Properties } from "../../src/model/state";
import type { HostProvider } from "../../src/provider/host";
import { newsOf } from "../provider/news";

/** The engine's data about one instance. It is serialized, so that it doesn't count in the measured heap. */
export interface Row {
  readonly at: number;
  saved?: Buffer;
}

export interface Saved {
  readonly id: string;
  readonly inputs: Properties;
  readonly state: Properties;
}

/** A provider process, the journal of its machine, and the project. */
interface Process {
  readonly provider: HostProvider;
  readonly journalDir: string;
  readonly project: string;
}

type Step = (process: Process, row: Row) => Promise<void>;

/** The engine's calls for each instance, command by command. */
export const STEPS = {
  up: async ({ provider, journalDir, project }, row) => {
    const news = newsOf(row.at, project);
    const { inputs } = await provider.check({}, news);
    const { id, outs } = await provider.create(inputs);
    row.saved = pack({ id, inputs, state: { ...outs, __provider: inputs.__provider } });
    // The program's part: it receives the id when the engine has saved the resource.
    await confirm(String(news.__urn), id, { dir: journalDir });
  },
  "up, unchanged": async ({ provider, project }, row) => {
    const { id, inputs: olds, state } = unpack(row);
    const { inputs } = await provider.check(olds, newsOf(row.at, project));
    const { changes } = await provider.diff(id, state, inputs);
    if (changes !== false) throw new Error(`the diff of instance ${row.at} has changes`);
  },
  refresh: async ({ provider }, row) => {
    const { id, state } = unpack(row);
    const answer = await provider.read(id, state);
    if (answer.id !== id) throw new Error(`instance ${row.at} was not found`);
  },
  "up, changed": async ({ provider, project }, row) => {
    const { id, inputs: olds, state } = unpack(row);
    const { inputs } = await provider.check(olds, newsOf(row.at, project, { flavor: "m1.large" }));
    const { changes } = await provider.diff(id, state, inputs);
    if (changes === false) throw new Error(`the diff of instance ${row.at} has no changes`);
    const { outs } = await provider.update(id, state, inputs);
    row.saved = pack({ id, inputs, state: { ...outs, __provider: inputs.__provider } });
  },
  destroy: async ({ provider }, row) => {
    const { id, state } = unpack(row);
    await provider.delete(id, state);
  },
} as const satisfies Readonly<Record<string, Step>>;

export type StepName = keyof typeof STEPS;

const pack = (saved: Saved): Buffer => Buffer.from(JSON.stringify(saved));

function unpack({ at, saved }: Row): Saved {
  if (saved === undefined) throw new Error(`instance ${at} was not created`);
  return JSON.parse(saved.toString());
}
