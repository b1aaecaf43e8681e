import { setTimeout as delay } from "node:timers/promises";
import type { Emulator, LoggedRequest } from "../../../src/emulator";
import { parseEntry } from "../../../src/journal/entry";
import { compare, type Finding, mismatch } from "../compare";
import type { Program } from "../programs";
import type { Machine } from "./machine";
import type { Task } from "./plan";
import type { Scene } from "./scene";

/** Returns all violations at the end. The same command must do nothing. */
export async function settled(
  { stack, emulator, others, machine }: Scene,
  command: Task["command"],
  program: Program | undefined,
): Promise<Finding[]> {
  await everythingAnswered(emulator);
  emulator.finishOperations();
  const findings = compare(emulator, others, stack.state(), program);
  const before = emulator.requests.length;
  const { code, output, words } = await stack.start(machine, command).ended;
  const asked = emulator.requests.slice(before).map(({ method, path }) => `${method} ${path}`);
  // The engine may delete an explicit provider that the last resource no longer needs.
  const changed = /^ *[-+~<>]+ +pulumi-nodejs:dynamic\//m.exec(output);
  if (code !== 0 || changed || asked.length > 0)
    findings.push(
      mismatch(`another ${words} exited with ${code} and sent [${asked.join(", ")}]:\n${output}`),
    );
  findings.push(
    ...compare(emulator, others, stack.state(), program).filter(
      ({ words }) => !findings.some((f) => f.words === words),
    ),
  );
  findings.push(...leftNotes(machine, program));
  return findings;
}

/**
 * Returns journal entries that should have been removed. `recover` may have written entries for creations whose
 * resources were replaced or removed since (docs/recovery.md).
 */
function leftNotes(machine: Machine, program: Program | undefined): Finding[] {
  const declared = program ? [program.project, ...program.instances].map(({ resource }) => resource) : [];
  return machine
    .journalFiles()
    .filter(({ name }) => name.endsWith(".jsonl"))
    .flatMap(({ name, text }) => {
      const entry = parseEntry(text);
      const isDeclared = declared.some((resource) => entry?.urn.endsWith(`::${resource}`));
      return entry?.recovered && !isDeclared
        ? []
        : [mismatch(`the journal still contains ${name}:\n${text}`)];
    });
}

/** The service may still carry out requests of a killed process. Waits for that. */
export async function everythingAnswered({ requests }: Emulator): Promise<void> {
  for (let waited = 0; waited < 3000 && requests.some(isUnanswered); waited += 20) await delay(20);
}

export const isUnanswered = ({ status }: LoggedRequest): boolean => status === 0;
