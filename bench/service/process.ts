import { startEmulator } from "../../src/emulator";
import type { FromService, ServiceOptions, ToService } from "./messages";

const tell = (message: FromService): void => void process.send?.(message);

/** The emulated service in a process of its own: what it takes is not measured as ours. Its only argument: its options as JSON. */
async function main(): Promise<void> {
  const options: ServiceOptions = JSON.parse(process.argv[2] ?? "{}");
  const counts = new Map<string, number>();
  const emulator = await startEmulator({
    behaviour: options.behaviour,
    requestsKept: 0,
    onRequest: ({ method, path }) => {
      const collection = path.split("/").filter((part) => !/^v\d+$/.test(part) && part !== "")[0] ?? "";
      const isList = method === "GET" && path.endsWith(`/${collection}`);
      const kind = `${isList ? "LIST" : method} ${collection}`;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    },
  });
  process.on("message", (message: ToService) => {
    if (message === "counts") tell({ counts: Object.fromEntries(counts) });
  });
  process.on("disconnect", () => process.exit());
  tell({ endpoint: emulator.endpoint, token: emulator.token });
}

void main();
