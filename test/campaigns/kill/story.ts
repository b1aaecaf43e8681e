import type { Behaviour } from "../../../src/emulator";
import type { Commands } from "./commands";
import type { Episode } from "./episode";
import type { Scene } from "./scene";

interface Told {
  readonly seed: number;
  readonly behaviour: Partial<Behaviour>;
  readonly episodes: readonly Episode[];
  readonly scene: Scene;
  readonly commands: Commands;
}

/** Formats everything that is known about a life, for debugging. */
export function storyOf({ seed, behaviour, episodes, scene, commands }: Told): string {
  const { emulator, stack, machine } = scene;
  const requests = emulator.requests.map(
    ({ at, method, path, status, headers, body }) =>
      `${new Date(at).toISOString()} ${method} ${path} → ${status} ${headers["idempotency-key"] ?? headers["if-match"] ?? ""} ${body}`,
  );
  const tasks = episodes.map(
    ({ task, made, changes, missed, ups, findings }) =>
      `${JSON.stringify(task)}\n  changes: ${changes.join(", ")}\n  kills: ${JSON.stringify(made)}, missed: ${missed}, commands after: ${ups}${findings.map(({ kind, words }) => `\n  ${kind}: ${words}`).join("")}`,
  );
  const said = commands.all.map(
    ({ begunAt, words, code, hung, ms, output }) =>
      `$ ${words}\n(${begunAt}, ended with ${code} after ${Math.round(ms)} ms${hung ? ", killed because it hung" : ""})\n${output}`,
  );
  const objects = [...emulator.projects.values(), ...emulator.instances.values()].map((one) =>
    JSON.stringify(one),
  );
  return [
    `── life ${seed} ──\nbehaviour: ${JSON.stringify(behaviour)}`,
    ...tasks,
    ...["\n── commands ──", ...said],
    ...["\n── requests ──", ...requests],
    ...["\n── service ──", ...objects],
    ...["\n── journal ──", ...machine.journalFiles().map(({ name, text }) => `${name}: ${text}`)],
    ...["\n── state ──", JSON.stringify(stack.state(), undefined, 1)],
  ].join("\n");
}
