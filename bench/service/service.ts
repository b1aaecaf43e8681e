import { fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { Counts, FromService, ServiceOptions, ToService } from "./messages";

export interface Service {
  readonly endpoint: string;
  readonly token: string;
  /** Requests since it was started. */
  counts(): Promise<Counts>;
  stop(): Promise<void>;
}

/** Starts the emulator in a process of its own. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const child = fork(path.join(__dirname, "process.ts"), [JSON.stringify(options)], {
    execArgv: ["--import", "tsx"],
  });
  const said = async (): Promise<FromService> => (await once(child, "message"))[0];
  const started = await said();
  if (!("endpoint" in started)) throw new Error("the service did not say where it is");
  return {
    ...started,
    counts: async () => {
      const answer = said();
      child.send("counts" satisfies ToService);
      const message = await answer;
      return "counts" in message ? message.counts : {};
    },
    stop: async () => {
      const exit = once(child, "exit");
      child.disconnect();
      await exit;
    },
  };
}
