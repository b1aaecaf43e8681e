import { startEmulator } from "../../src/emulator";
import { Random } from "../../test/campaigns/random";
import { Limit } from "./limit";
import type { FromService, ServiceOptions, ToService } from "./messages";
import { Watch } from "./watch";

const tell = (message: FromService): void => void process.send?.(message);

/** Runs the emulator in a separate process, so that its cost isn't measured. The only argument is the options as JSON. */
async function main(): Promise<void> {
  const options: ServiceOptions = JSON.parse(process.argv[2] ?? "{}");
  const { behaviour, durations, limit } = options;
  const random = new Random(durations?.seed ?? 0);
  const watch = new Watch();
  const emulator = await startEmulator({
    behaviour: {
      ...behaviour,
      ...(durations && { operationMs: () => random.integer(durations.from, durations.to) }),
    },
    requestsKept: 0,
    onRequest: (request) => watch.answered(request, emulator),
  });
  if (limit !== undefined) {
    const bucket = new Limit(limit.perSecond);
    const { retryAfter } = limit;
    const when = (): boolean => !bucket.take();
    const wish = retryAfter === undefined ? {} : { retryAfter };
    emulator.fail({ kind: "status", status: 429, times: Number.POSITIVE_INFINITY, when, ...wish });
  }
  const project = emulator.addProject().id;
  const instances = Array.from(
    { length: options.instances ?? 0 },
    () => emulator.addInstance({ project }).id,
  );
  process.on("message", (message: ToService) => {
    tell(message === "counts" ? { counts: watch.counts } : { report: watch.report });
  });
  process.on("disconnect", () => process.exit());
  tell({ endpoint: emulator.endpoint, token: emulator.token, project, instances });
}

void main();
