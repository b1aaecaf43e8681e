import type { Provider } from "../provider";
import { Reported, type Run } from "../run";
import { dependenciesOf, newResource, type Resource } from "../state/resource";
import { isProviderType, makeUrn, parseProviderReference, stackType } from "../state/urn";
import { CreateStep } from "../steps/create";
import { ImportStep } from "../steps/import";
import { ReadStep } from "../steps/read";
import { ReplaceStep } from "../steps/replace";
import { SameStep, SkippedCreateStep } from "../steps/same";
import type { Settle, Step } from "../steps/step";
import { keepIgnored } from "../values/diff";
import type { Goal, ReadGoal } from "../wire/goal";
import { Aliases } from "./aliases";
import { stepsFromDiff } from "./changes";
import { check } from "./check";
import { asked, inherit, type Registration } from "./registration";
import type { Targets } from "./targets";

export type Mode = "update" | "destroy" | "refresh";

/**
 * Plans the steps for each resource that the program registers, one resource at a time. It calls the provider only to
 * check and to compare, so it changes nothing.
 */
export class Generator {
  readonly urns = new Set<string>();
  readonly reads = new Set<string>();
  readonly creates = new Set<string>();
  readonly sames = new Set<string>();
  readonly updates = new Set<string>();
  readonly replaces = new Set<string>();
  readonly refreshes = new Set<string>();
  readonly skippedCreates = new Set<string>();
  /** Entries that are deleted early, because a dependency is deleted before its replacement is created. */
  readonly pendingDeletes = new Set<Resource>();
  /** New entries that a destroy with a program deletes again at the end. */
  readonly toDelete: Resource[] = [];
  readonly aliases: Aliases;
  readonly olds: Map<string, Resource>;
  readonly #goals = new Map<string, Goal>();
  sawError = false;

  constructor(
    readonly run: Run,
    readonly mode: Mode,
    readonly targets: Targets,
    readonly replaceTargets: Targets,
  ) {
    this.aliases = new Aliases(run);
    this.olds = new Map(run.snapshot.base.filter((r) => !r.delete).map((r) => [r.urn, r]));
  }

  isReplaceTarget(urn: string, old: Resource | undefined): boolean {
    return (this.replaceTargets.constrained && this.replaceTargets.names(urn)) || (old?.taint ?? false);
  }

  hasStep(urn: string): boolean {
    return [this.creates, this.sames, this.updates, this.run.deletions, this.replaces, this.reads].some((s) =>
      s.has(urn),
    );
  }

  /** Returns whether the entry has been handled, under its own URN or a new one. */
  isOperatedOn(urn: string): boolean {
    const now = this.aliases.takenOver.get(urn) ?? urn;
    return [this.sames, this.updates, this.replaces, this.reads, this.refreshes].some((s) => s.has(now));
  }

  prepare(registered: Goal, settle: Settle): Registration {
    const goal = inherit(registered, this.#goals.get(registered.parent));
    const urn = this.#claim(goal.parent, goal.type, goal.name);
    const old = this.aliases.find(urn, goal, this.olds, this.urns);
    this.#goals.set(urn, goal);
    if (old && old.urn !== urn && isProviderType(goal.type)) this.run.providers.renamed(old.urn, urn);
    return { goal, settle, urn, current: asked(urn, goal, old), old };
  }

  async steps(registration: Registration): Promise<Step[]> {
    const { goal, settle, urn, current, old } = registration;
    const plain = goal.custom && !isProviderType(goal.type);
    if (this.mode === "refresh" && (plain || this.#dependsOnSkipped(current))) {
      if (!old) return this.#skip(registration);
      settle({ resource: old, result: "success", unknown: false });
      return [];
    }
    if (this.mode === "destroy") {
      if (this.#dependsOnSkipped(current)) {
        current.outputs = old?.outputs ?? {};
        return this.#skip(registration);
      }
      if (plain && !old) return this.#skip(registration);
      this.toDelete.push(current);
      if (plain && old) {
        this.sames.add(urn);
        current.inputs = old.inputs;
        return [new SameStep(old, current, settle)];
      }
    }
    return this.#validated(await this.#update(registration, plain));
  }

  read(goal: ReadGoal, settle: Settle): Step[] {
    const urn = this.#claim(goal.parent, goal.type, goal.name);
    const old = this.olds.get(urn);
    const { type, id, inputs, parent, provider, dependencies, additionalSecretOutputs } = goal;
    const current = newResource({
      ...{ urn, type, custom: true, external: true, id, inputs, parent, provider },
      dependencies: [...dependencies],
      additionalSecretOutputs: [...additionalSecretOutputs],
    });
    if (old && !old.external && old.id !== id) {
      this.replaces.add(urn);
      return [new ReadStep(current, old, true, settle), new ReplaceStep(old, current, undefined)];
    }
    if (this.mode === "destroy") this.toDelete.push(current);
    this.reads.add(urn);
    return [new ReadStep(current, old, false, settle)];
  }

  async #update(registration: Registration, plain: boolean): Promise<Step[]> {
    const { goal, settle, urn, current, old } = registration;
    const recreating = this.run.deletions.has(urn);
    if (plain && goal.importId !== "" && !recreating && old?.id !== goal.importId) {
      return [new ImportStep(current, goal.importId)];
    }
    const provider = plain ? await this.run.providers.get(goal.provider) : undefined;
    const targeted = isProviderType(goal.type) || goal.type === stackType || this.targets.includes(current);
    if (provider) await this.#check(registration, provider, { recreating, targeted });
    if (recreating && old) {
      this.run.deletions.delete(urn);
      this.replaces.add(urn);
      const replaces = { old, diff: undefined, oldIsDeletedLater: false };
      return [new ReplaceStep(old, current, undefined), new CreateStep(current, settle, replaces)];
    }
    if (old?.external) {
      this.creates.add(urn);
      const replaces = { old, diff: undefined, oldIsDeletedLater: true };
      return [new CreateStep(current, settle, replaces), new ReplaceStep(old, current, undefined)];
    }
    if (targeted) this.targets.add(urn);
    if (old && targeted) return stepsFromDiff(this, registration, provider);
    if (old) {
      this.#requireProvider(urn, old);
      return this.#carryAlong(old, settle);
    }
    if (!targeted) return this.#skip(registration);
    this.creates.add(urn);
    return [new CreateStep(current, settle)];
  }

  async #check(
    registration: Registration,
    provider: Provider,
    how: { recreating: boolean; targeted: boolean },
  ) {
    const { goal, urn, current, old } = registration;
    if (!how.targeted) {
      current.inputs = old?.inputs ?? {};
      return;
    }
    const fresh = !old || how.recreating || old.external || this.isReplaceTarget(urn, old);
    const news = old ? keepIgnored(old.inputs, goal.inputs, goal.ignoreChanges) : goal.inputs;
    await check(this.run, provider, current, fresh ? {} : old.inputs, fresh ? goal.inputs : news);
  }

  #skip(registration: Registration): Step[] {
    this.sames.add(registration.urn);
    this.skippedCreates.add(registration.urn);
    return [new SkippedCreateStep(registration.current, registration.settle)];
  }

  /** Rejects a resource that is not targeted, although the program has changed its provider. */
  #requireProvider(urn: string, { provider }: Resource): void {
    if (provider === "" || this.run.providers.has(provider)) return;
    throw new Error(
      `provider ${provider} for resource ${urn} has not been registered yet, this is due to a change of providers ` +
        "mixed with --target. Change your program back to the original providers",
    );
  }

  /** Keeps an entry that is not targeted, together with the dependencies that the program no longer declares. */
  #carryAlong(old: Resource, settle?: Settle): Step[] {
    this.urns.add(old.urn);
    this.sames.add(old.urn);
    const needed = dependenciesOf(old);
    if (old.provider !== "") needed.push(parseProviderReference(old.provider).urn);
    const before = needed.flatMap((urn) => {
      const dependency = this.olds.get(urn);
      return dependency && !this.hasStep(urn) && !this.isOperatedOn(urn) ? this.#carryAlong(dependency) : [];
    });
    return [...before, new SameStep(old, { ...old }, settle)];
  }

  #dependsOnSkipped(resource: Resource): boolean {
    return dependenciesOf(resource).some((urn) => this.skippedCreates.has(urn));
  }

  /** Checks that no planned step needs a resource that is left out. */
  #validated(steps: Step[]): Step[] {
    if (!this.targets.constrained && !this.replaceTargets.constrained) return steps;
    for (const step of steps) {
      if (!step.current || step instanceof SkippedCreateStep) continue;
      const missing = dependenciesOf(step.current).find((urn) => this.skippedCreates.has(urn));
      if (missing === undefined) continue;
      const message = `Resource '${step.current.urn}' depends on '${missing}' which was not specified in --target list.`;
      this.run.reporter.diagnose({ severity: "error", message, urn: step.current.urn });
      this.sawError = true;
      if (!this.run.dryRun) throw new Reported("untargeted create");
      this.skippedCreates.delete(missing);
    }
    return steps;
  }

  #claim(parent: string, type: string, name: string): string {
    if (parent !== "" && !this.urns.has(parent)) throw new Error(`could not find parent resource ${parent}`);
    const urn = makeUrn(this.run, parent, type, name);
    if (this.urns.has(urn)) {
      this.run.reporter.diagnose({
        severity: "error",
        message: `Duplicate resource URN '${urn}'; try giving it a unique name`,
        urn,
      });
      throw new Reported("duplicate URN");
    }
    this.urns.add(urn);
    return urn;
  }
}
