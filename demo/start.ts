import { mkdtempSync, realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { type Emulator, startEmulator } from "../src/emulator";
import { pulumiOnPath } from "../test/harness/pulumi-environment";
import { type DemoCommand, type Driver, type Setting, StepFailed } from "./driver";
import { fakeDriver } from "./fake";
import { aborted, watchInterruption } from "./interruption";
import { type DemoOptions, parseOptions, USAGE } from "./options";
import { pulumiDriver } from "./pulumi-cli";
import { changeFlavor, copyQuickstart } from "./quickstart";

/** Long enough to show progress, and short enough to watch. */
const OPERATION_MS = 2500;

class Interrupted extends Error {}

const print = (text = ""): void => {
  process.stdout.write(`${text}\n`);
};

/** Runs the demo: starts a service, copies a program, and runs Pulumi's commands. Returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (typeof options === "string") {
    process.stderr.write(`${options}\n\n${USAGE}\n`);
    return 2;
  }
  const interruption = watchInterruption();
  const root = realpathSync(mkdtempSync(path.join(os.tmpdir(), "cloudinfra-demo-")));
  const emulator = await startEmulator({
    behaviour: { operationMs: OPERATION_MS, putReply: 202, deleteObject: 202 },
  });
  let driver: Driver | undefined;
  try {
    const dir = path.join(root, "quickstart");
    const live = process.stdout.isTTY && process.stdin.isTTY;
    const { endpoint, token } = emulator;
    copyQuickstart(dir);
    driver = await openDriver(options, { dir, root, endpoint, token, live, ...interruption });
    print(`Running the quickstart of pulumi-cloudinfra in a temporary folder: ${dir}`);
    print(`Engine:  ${driver.description}.`);
    print(
      `Service: the emulator of this package at ${endpoint}. Each operation takes ${OPERATION_MS / 1000} s.`,
    );
    await play(driver, emulator, dir, options.keep, interruption.interrupted);
    return 0;
  } catch (error) {
    if (error instanceof Interrupted || interruption.interrupted.aborted) {
      print("\nInterrupted. All objects and files were removed.");
      return 130;
    }
    if (!(error instanceof StepFailed)) throw error;
    process.stderr.write(`\nThe demo failed: ${error.message}. The output of the command is above.\n`);
    return 1;
  } finally {
    await driver?.close();
    await emulator.stop();
    await rm(root, { recursive: true, force: true, maxRetries: 3 });
    interruption.release();
  }
}

async function openDriver({ engine }: DemoOptions, setting: Setting): Promise<Driver> {
  const pulumi = engine === "fake" ? undefined : pulumiOnPath();
  if (pulumi) return pulumiDriver(pulumi, setting);
  if (engine === "pulumi") throw new StepFailed("`pulumi` is not on the PATH");
  return fakeDriver(setting);
}

async function play(
  driver: Driver,
  emulator: Emulator,
  dir: string,
  keep: boolean,
  interrupted: AbortSignal,
): Promise<void> {
  const steps = keep ? 4 : 5;
  const step = async (number: number, heading: string, command: DemoCommand): Promise<void> => {
    print(`\n── ${number} of ${steps} · ${heading} (${command}) ──\n`);
    const before = emulator.requests.length;
    const start = performance.now();
    await driver.run(command);
    if (interrupted.aborted) throw new Interrupted();
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    print(`\n   ${seconds} s · requests to the service: ${emulator.requests.length - before}`);
  };
  await step(1, "Preview a project and three instances", "preview");
  await step(2, "Create them", "up");
  const { number, before, after } = changeFlavor(dir);
  print(
    `\n── Change one line of the program ──\n\n   index.ts:${number}\n   - ${before.trim()}\n   + ${after.trim()}`,
  );
  await step(3, "Preview the change: one instance is updated in place", "preview");
  await step(4, "Apply the change", "up");
  if (!keep) return step(5, "Delete everything", "destroy");
  print("\n── The service runs until you press Ctrl-C here ──\n\nRun in another terminal:\n");
  print(driver.commandsToTry);
  await aborted(interrupted);
  print("\nStopping the service, and removing the folder.");
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(
      `This is a bug in the demo: ${error instanceof Error ? error.stack : String(error)}\n`,
    );
    process.exitCode = 1;
  },
);
