import { atOnce } from "../provider/at-once";
import { memoryNow } from "../provider/memory";
import { openProvider } from "../provider/open";
import type { Counts } from "../service/messages";
import { type Service, startService } from "../service/service";
import { type Row, STEPS, type StepName } from "./steps";

/** What one command took, of one instance. */
export interface Cost {
  readonly step: StepName;
  /** Milliseconds of this process's CPU time. */
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Bytes of heap that it keeps while the provider lives. */
  readonly heap: number;
  /** Bytes that this whole process took at most so far. */
  readonly peak: number;
  /** Requests, by kind. */
  readonly requests: Counts;
}

export interface LifeOptions {
  readonly instances: number;
  /** Calls that the engine keeps in flight. */
  readonly parallel: number;
}

/** A stack from its first `up` to its end. Its only argument: its options as JSON; it sends what each command took. */
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
