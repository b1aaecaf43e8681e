import { setInterval } from "node:timers";
import { memoryNow } from "../provider/memory";
import { newsOf } from "../provider/news";
import { openProvider } from "../provider/open";
import type { Report } from "../service/messages";
import { startService } from "../service/service";
import type { Scene } from "./scenes";

export interface Many {
  readonly creations: number;
  /** Minimum and maximum duration of an operation, in milliseconds. */
  readonly durations: readonly [number, number];
  readonly seed: number;
}

export interface Measured {
  readonly scene: Scene;
  readonly report: Report;
  readonly failures: readonly string[];
  readonly seconds: number;
  /** Heap in bytes after garbage collection: before the creations, while all of them wait, and afterwards. */
  readonly heap: { readonly before: number; readonly during: readonly number[]; readonly after: number };
}

const SAMPLE_MS = 5_000;

/** Creates many instances concurrently in this process. */
export async function measure(scene: Scene, { creations, durations, seed }: Many): Promise<Measured> {
  const [from, to] = durations;
  const service = await startService({
    behaviour: {},
    durations: { from, to, seed },
    ...(scene.limit && { limit: scene.limit }),
  });
  const provider = await openProvider(service, scene.settings);
  const failures: string[] = [];
  const create = async (at: number): Promise<void> => {
    const { inputs } = await provider.instances.check({}, newsOf(at, service.project));
    await provider.instances.create(inputs);
  };
  const before = memoryNow().heap;
  const during: number[] = [];
  const sampling = setInterval(() => during.push(memoryNow().heap), SAMPLE_MS);
  const start = performance.now();
  try {
    const all = Array.from({ length: creations }, (_, at) => create(at));
    for (const result of await Promise.allSettled(all))
      if (result.status === "rejected") failures.push(String(result.reason?.message));
    const seconds = (performance.now() - start) / 1_000;
    clearInterval(sampling);
    const after = memoryNow().heap;
    return { scene, report: await service.report(), failures, seconds, heap: { before, during, after } };
  } finally {
    clearInterval(sampling);
    provider.close();
    await service.stop();
  }
}
