import type { Properties } from "../../src/model/state";
import { Random } from "../../test/campaigns/random";
import { atOnce } from "../provider/at-once";
import { newsOf } from "../provider/news";
import { openProvider } from "../provider/open";
import type { Counts } from "../service/messages";
import { type Service, startService } from "../service/service";
import type { Case } from "./cases";

export interface Measured {
  readonly lists: number;
  readonly gets: number;
  readonly seconds: number;
}

/** The state after a creation. */
interface Saved {
  readonly id: string;
  readonly state: Properties;
}

/** A service with a project, and the states of its instances. */
export interface Project {
  readonly service: Service;
  readonly saved: readonly Saved[];
}

/** @param held the number of instances in the project */
export async function openProject(held: number): Promise<Project> {
  const service = await startService({ behaviour: {}, instances: held });
  const { project, instances, endpoint } = service;
  const saved = instances.map((id, at) => {
    const { image, flavor, network, __urn } = newsOf(at, project);
    const fields = { project, name: "foreign", image, flavor, network, sshKeys: [], labels: {} };
    return { id, state: { ...fields, __urn, __key: "of-an-earlier-run", __endpoint: endpoint } };
  });
  return { service, saved };
}

/**
 * Reads the instances in a new provider process.
 *
 * @throws Error if a read doesn't find the expected object
 */
export async function measure({ service, saved }: Project, one: Case, seed: number): Promise<Measured> {
  const mixed = new Random(seed).shuffled(saved);
  const chosen = (one.order === "random" ? mixed : saved).slice(0, one.reads);
  const provider = await openProvider(service);
  const before = await service.counts();
  const start = performance.now();
  try {
    const answers = await atOnce(chosen, one.parallel, ({ id, state }) => provider.instances.read(id, state));
    const seconds = (performance.now() - start) / 1_000;
    const wrong = answers.find((answer, at) => answer.id !== chosen[at]?.id);
    if (wrong !== undefined) throw new Error(`unexpected result of a read: ${JSON.stringify(wrong)}`);
    const after = await service.counts();
    const more = (kind: keyof Counts): number => (after[kind] ?? 0) - (before[kind] ?? 0);
    return { lists: more("LIST instances"), gets: more("GET instances"), seconds };
  } finally {
    provider.close();
  }
}
