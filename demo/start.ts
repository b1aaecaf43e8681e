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

/** Long enough to see progress, short enough to watch to the end. */
const OPERATION_MS = 2500;

class Interrupted extends Error {}

const say = (text = ""): void => {
  process.stdout.write(`${text}\n`);
};

/** The whole demo: a service, a program, and Pulumi's commands one after the other. Resolves with the exit code. */
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
    say(`pulumi-cloudinfra, from nothing and back, in a temporary folder: ${dir}`);
    say(`Engine:  ${driver.introduction}.`);
    say(`Service: this package's emulator at ${endpoint}; an operation takes ${OPERATION_MS / 1000} s.`);
    await play(driver, emulator, dir, options.keep, interruption.interrupted);
    return 0;
  } catch (error) {
    if (error instanceof Interrupted || interruption.interrupted.aborted) {
      say("\nInterrupted; everything is removed.");
      return 130;
    }
    if (!(error instanceof StepFailed)) throw error;
    process.stderr.write(`\nThe demo stops here: ${error.message}. What it said is above.\n`);
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
  if (engine === "pulumi") throw new StepFailed("there is no `pulumi` on PATH");
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
    say(`\n── ${number} of ${steps} · ${heading} (${command}) ──\n`);
    const before = emulator.requests.length;
    const start = performance.now();
    await driver.run(command);
    if (interrupted.aborted) throw new Interrupted();
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    say(`\n   ${seconds} s · requests to the service: ${emulator.requests.length - before}`);
  };
  await step(1, "What would be made? Nothing is, yet", "preview");
  await step(2, "Make a project and three instances", "up");
  const { number, before, after } = changeFlavor(dir);
  say(
    `\n── One line of the program changes ──\n\n   index.ts:${number}\n   - ${before.trim()}\n   + ${after.trim()}`,
  );
  await step(3, "What would that change? One instance, in place", "preview");
  await step(4, "Make the change", "up");
  if (!keep) return step(5, "Take everything down again", "destroy");
  say("\n── The service stays up until you press Ctrl-C here ──\n\nType in another terminal:\n");
  say(driver.whatToType);
  await aborted(interrupted);
  say("\nStopping the service and removing the folder.");
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`The demo has a fault: ${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 1;
  },
);
