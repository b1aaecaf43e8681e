import { atOnce } from "../provider/at-once";
import { memoryNow } from "../provider/memory";
import { openProvider } from "../provider/open";
import type { Counts } from "../service/messages";
import { type Service, startService } from "../service/service";
import { type Row, STEPS, type StepName } from "./steps";

/** The cost of one command, per instance. */
export interface Cost {
  readonly step: StepName;
  /** CPU time of this process, in milliseconds. */
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Heap in bytes that the instance keeps while the provider runs. */
  readonly heap: number;
  /** The largest memory size of the whole process so far, in bytes. */
  readonly peak: number;
  /** Requests, by kind. */
  readonly requests: Counts;
}

export interface LifeOptions {
  readonly instances: number;
  /** Concurrent calls. */
  readonly parallel: number;
}

/**
 * Runs a stack from its first `up` to `destroy`. The only argument is the options as JSON. Sends the cost of each
 * command to the parent.
 */
async function main(): Promise<void> {
  const options: LifeOptions = JSON.parse(process.argv[2] ?? "{}");
  const service = await startService({ behaviour: { operationMs: 0 } });
  const rows: Row[] = Array.from({ length: options.instances }, (_, at) => ({ at }));
  for (const step of Object.keys(STEPS) as StepName[])
    process.send?.(await costOf(step, service, rows, options));
  await service.stop();
  process.disconnect?.();
}

async function costOf(
  step: StepName,
  service: Service,
  rows: readonly Row[],
  { parallel }: LifeOptions,
): Promise<Cost> {
  const { instances: provider, journalDir, close } = await openProvider(service);
  const asked = await service.counts();
  const before = memoryNow().heap;
  const cpu = process.cpuUsage();
  const start = performance.now();
  await atOnce(rows, parallel, (row) => STEPS[step]({ provider, journalDir, project: service.project }, row));
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  const heap = memoryNow().heap - before;
  const counts = Object.entries(await service.counts());
  close();
  const each = (whole: number): number => whole / rows.length;
  return {
    step,
    cpuMs: each((user + system) / 1_000),
    wallMs: each(wallMs),
    heap: each(heap),
    peak: process.resourceUsage().maxRSS * 1_024,
    requests: Object.fromEntries(counts.map(([kind, count]) => [kind, count - (asked[kind] ?? 0)])),
  };
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
