import { setTimeout as delay } from "node:timers/promises";
import type { Behaviour } from "../../../src/emulator";
import { type Elsewhere, withElsewhere } from "../../harness/elsewhere";
import type { Engine } from "../../harness/engine";
import { type Scenario, withStack } from "../../harness/scenario";
import { Random } from "../random";
import { behaviourOfPairs } from "./behaviour";
import { type Declared, sourceOf } from "./declared";
import { drift } from "./drift";
import { type Pair, randomPair } from "./generate";
import { type Played, play } from "./run";
import { nameOf, untruths } from "./truth";

/** The results of the pairs in one stack. */
export interface StackReport {
  readonly seed: number;
  /** The differences from the default service. */
  readonly behaviour: Partial<Behaviour>;
  readonly pairs: number;
  /** The number of announced resources of each kind, and how many of them somebody else had changed before. */
  readonly announced: Readonly<Record<string, number>>;
  readonly drifted: number;
  readonly untruths: readonly string[];
  /** What a second `up`, a refresh and an `up` after it changed or requested, although nothing was to be done. */
  readonly falseDiffs: readonly string[];
  readonly ms: number;
}

/**
 * Runs pairs of programs: an `up`, changes by somebody else, a refresh, a preview of the changed programs, and an `up`,
 * which must match the preview. After that, nothing may be left to do.
 */
export async function pairsInOneStack(engine: Engine, seed: number, count: number): Promise<StackReport> {
  const random = new Random(seed);
  const behaviour = behaviourOfPairs(random);
  const begun = performance.now();
  const told = {
    announced: {} as Record<string, number>,
    drifted: 0,
    untruths: [] as string[],
    falseDiffs: [] as string[],
  };
  const config = { "cloudinfra:operationTimeout": "30s" };
  const lead = async (scenario: Scenario, elsewhere: Elsewhere): Promise<void> => {
    const { emulator } = scenario;
    if (behaviour.linkOrigin) emulator.behaviour.linkOrigin = elsewhere.url;
    if (behaviour.resultOrigin) emulator.behaviour.resultOrigin = elsewhere.url;
    const { id: project } = emulator.addProject({ name: "theirs" });
    // An import requires the form in which the service reports an image. The programs contain the usual form.
    const canImport = !behaviour.normalize?.some((way) => way === "ids" || way === "upper-case");
    const pairs = Array.from({ length: count }, (_, at) => {
      const foreign = emulator.addInstance({ project, name: `theirs-${at}` });
      const { name, image } = foreign.fields;
      const known = { id: foreign.id, project, name: String(name), image: String(image) };
      return randomPair(random, `c${at}`, {
        uniqueNames: behaviour.uniqueNames ?? false,
        foreign: canImport ? known : undefined,
      });
    });
    await new Playing(scenario, random, pairs, told).all();
    told.untruths.push(...elsewhere.requests.map((request) => `a request to another origin: ${request}`));
  };
  const played = withStack(engine, { program: "", behaviour, config }, (scenario) =>
    withElsewhere(scenario.leaks, (elsewhere) => lead(scenario, elsewhere)),
  );
  await played.catch((error: unknown) => {
    told.untruths.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  });
  return { seed, behaviour, pairs: count, ...told, ms: performance.now() - begun };
}

type Told = { announced: Record<string, number>; drifted: number; untruths: string[]; falseDiffs: string[] };

class Playing {
  private drifted: ReadonlyMap<string, string> = new Map();

  constructor(
    private readonly scenario: Scenario,
    private readonly random: Random,
    private readonly pairs: readonly Pair[],
    private readonly told: Told,
  ) {}

  async all(): Promise<void> {
    const { random, scenario, pairs } = this;
    const { stack, emulator } = scenario;
    scenario.write(sourceOf(pairs.flatMap(({ before }) => before)));
    if (!(await this.ok("the first up", play(scenario, "up")))) return;
    this.drifted = drift(random, emulator, await stack.deployment(), 0.2);
    this.told.drifted = this.drifted.size;
    await delay(emulator.behaviour.lagMs);
    if (!(await this.ok("the refresh after changes by others", play(scenario, "refresh")))) return;

    const after = pairs.flatMap((pair) => pair.after);
    scenario.write(sourceOf(after));
    const before = await stack.deployment();
    const preview = await play(scenario, "preview");
    if (!(await this.ok("the preview", preview))) return;
    this.idle("the preview", preview, false);
    const up = await play(scenario, "up");
    if (!(await this.ok("the up", up))) return;
    for (const [op, times] of Object.entries(preview.result.changes))
      this.told.announced[op] = (this.told.announced[op] ?? 0) + times;
    const declared = new Map<string, Declared>(after.map((one) => [one.resource, one]));
    for (const { resource, words } of untruths({
      declared,
      before,
      preview,
      up,
      after: await stack.deployment(),
      isNormalized: emulator.behaviour.normalize.length > 0,
    }))
      this.told.untruths.push(`${words}\n${this.story(resource)}`);

    for (const words of ["another up", "the refresh after it", "the up after the refresh"]) {
      await delay(emulator.behaviour.lagMs);
      const run = await play(scenario, words.includes("the refresh after") ? "refresh" : "up");
      if (!(await this.ok(words, run))) return;
      this.idle(words, run);
    }
  }

  private async ok(words: string, run: Promise<Played> | Played): Promise<boolean> {
    const { result } = await run;
    const hidden = /__(?:autonamed|endpoint|import|key|keyAt|pending|secrets|timeouts|urn|words)\b.*/.exec(
      result.output,
    );
    if (hidden !== null) this.told.untruths.push(`${words} shows a hidden property: ${hidden[0]}`);
    if (result.ok) return true;
    const errors = result.diagnostics.filter(({ severity }) => severity === "error");
    const stories = new Set(errors.flatMap(({ urn }) => (urn ? [this.story(nameOf(urn))] : [])));
    this.told.untruths.push(
      `${words} failed:
${result.output}\n${[...stories].join("\n")}`,
    );
    return false;
  }

  /** Checks that a command changed nothing and sent no changes to the service. */
  private idle(words: string, { result, steps, writes }: Played, nothingToDo = true): void {
    for (const { method, path, body } of writes)
      this.told.falseDiffs.push(`${words} sent a change: ${method} ${path} ${body}`);
    if (!nothingToDo) return;
    for (const { urn, op, diffs = [] } of steps)
      if (op !== "same" && op !== "read")
        this.told.falseDiffs.push(
          `${words} ran the step ${op} (${diffs.join(", ")})\n${this.story(nameOf(urn))}`,
        );
    const { same: _, ...changes } = result.changes;
    if (Object.keys(changes).some((op) => op !== "read") && !steps.some(({ op }) => op !== "same"))
      this.told.falseDiffs.push(`${words} reported ${JSON.stringify(changes)}`);
  }

  /** Returns everything that is known about the pair of a resource, for debugging. */
  private story(resource: string): string {
    const pair = this.pairs.find(({ name }) => resource === name || resource.startsWith(`${name}-`));
    if (pair === undefined) return "";
    const others = [...this.drifted].filter(([name]) => name.startsWith(`${pair.name}-`));
    return [
      `${resource}, of pair ${pair.name}: ${pair.changes.join("; ") || "unchanged"}`,
      ...others.map(([name, words]) => `  ${name} was ${words}`),
      "  first:",
      indented(sourceOf(pair.before)),
      "  then:",
      indented(sourceOf(pair.after)),
    ].join("\n");
  }
}

const indented = (text: string): string => text.replace(/^/gm, "    ");
