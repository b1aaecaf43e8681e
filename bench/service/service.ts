import { fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { Counts, FromService, Report, ServiceOptions, Started, ToService } from "./messages";

export interface Service extends Started {
  /** Returns the number of requests since the start, by kind. */
  counts(): Promise<Counts>;
  report(): Promise<Report>;
  stop(): Promise<void>;
}

/** Starts the emulator in a separate process. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const child = fork(path.join(__dirname, "process.ts"), [JSON.stringify(options)], {
    execArgv: ["--import", "tsx"],
  });
  const said = async (): Promise<FromService> => (await once(child, "message"))[0];
  const ask = async (question: ToService): Promise<FromService> => {
    const answer = said();
    child.send(question);
    return answer;
  };
  const started = await said();
  if (!("endpoint" in started)) throw new Error("the service reported no endpoint");
  return {
    ...started,
    counts: async () => {
      const answer = await ask("counts");
      return "counts" in answer ? answer.counts : {};
    },
    report: async () => {
      const answer = await ask("report");
      if (!("report" in answer)) throw new Error("the service sent no report");
      return answer.report;
    },
    stop: async () => {
      const exit = once(child, "exit");
      child.disconnect();
      await exit;
    },
  };
}
