import type { Random } from "../random";
import { FLAVORS, NETWORKS, REGIONS, randomInstance, randomOptions } from "./arguments";
import { type Declared, type Given, type Options, Output, Secret, Undefined } from "./declared";
import { maybe, one } from "./draws";
import type { Rules } from "./rules";

/** Changes a program step by step, as a user would. */
export class Change {
  resources: readonly Declared[];
  readonly words: string[] = [];

  constructor(
    private readonly random: Random,
    before: readonly Declared[],
    private readonly rules: Rules,
  ) {
    this.resources = before;
  }

  one(): void {
    const changes = [
      ...[
        () => this.arg("flavor"),
        () => this.arg("network"),
        () => this.arg("sshKeys"),
        () => this.arg("labels"),
      ],
      ...[
        () => this.arg("image"),
        () => this.arg("publicIp"),
        () => this.arg("name"),
        () => this.arg("project"),
      ],
      ...[() => this.arg("labels"), () => this.arg("sshKeys"), () => this.unset(), () => this.unset()],
      ...[() => this.region(), () => this.options(), () => this.options()],
      ...[() => this.remove(), () => this.add(), () => this.rename(), () => this.takeOver()],
    ];
    one(this.random, changes)();
  }

  private arg(name: string): void {
    const target = this.instance();
    if (target === undefined || target.options.import !== undefined) return;
    const at = this.resources.indexOf(target);
    const fresh = randomInstance(this.random, target.resource, this.resources.slice(0, at), this.rules);
    const value =
      name === "name" ? `renamed-${target.resource}-${this.random.integer(1, 9)}` : fresh.args[name];
    if (value !== undefined)
      this.put(target, { ...target, args: { ...target.args, [name]: value } }, `another ${name}`);
  }

  private unset(): void {
    const target = this.instance();
    if (target === undefined || target.options.import !== undefined) return;
    const optional = ["name", "publicIp", "sshKeys", "labels"].filter((name) => name in target.args);
    if (optional.length === 0) return;
    const name = one(this.random, optional);
    const { [name]: _, ...args } = target.args;
    this.put(target, { ...target, args }, `no ${name}`);
  }

  private region(): void {
    const target = one(
      this.random,
      this.resources.filter(({ type }) => type === "Project"),
    );
    const region = this.random.pick(REGIONS);
    const name = this.random.chance(0.3)
      ? { name: `renamed-${target.resource}-${this.random.integer(1, 9)}` }
      : {};
    this.put(target, { ...target, args: { ...target.args, region, ...name } }, "another region or name");
  }

  private options(): void {
    const target = one(this.random, this.resources);
    const { aliases, import: imported, parent } = target.options;
    const fresh = randomOptions(this.random, this.rules, "");
    const kept = { ...maybe(this.random, 0.5, target.options), ...fresh };
    // Like another name, another parent changes the URN.
    const options = { ...kept, aliases, import: imported, parent };
    this.put(target, { ...target, options: defined(options) }, "other options");
  }

  private remove(): void {
    const target = this.instance();
    if (target === undefined) return;
    const isOutput = (given: Given): boolean => given instanceof Output && given.resource === target.resource;
    const freed = (given: Given): Given => {
      if (isOutput(given)) return this.random.pick(NETWORKS);
      if (!isMap(given)) return given;
      return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, freed(value)]));
    };
    this.resources = this.resources
      .filter((resource) => resource !== target)
      .map((resource) => ({
        ...resource,
        args: Object.fromEntries(Object.entries(resource.args).map(([key, value]) => [key, freed(value)])),
      }));
    this.words.push(`${target.resource} removed`);
  }

  private add(): void {
    const pair = this.resources[0]?.resource.split("-")[0] ?? "";
    const added = randomInstance(this.random, `${pair}-n${this.words.length}`, this.resources, this.rules);
    this.resources = [...this.resources, added];
    this.words.push(`${added.resource} added`);
  }

  /** Renames a resource that nothing refers to. */
  private rename(): void {
    const used = new Set(this.resources.flatMap(({ args }) => outputsIn(args)));
    const target = this.instance((one) => !used.has(one.resource) && one.options.import === undefined);
    if (target === undefined) return;
    const resource = `${target.resource}-r`;
    const isSame = this.random.chance(0.6);
    const { name, ...args } = target.args;
    const aliases = [...(target.options.aliases ?? []), target.resource];
    const renamed = isSame
      ? { ...target, resource, options: { ...target.options, aliases } }
      : { ...target, resource, args, options: defined({ ...target.options, aliases: undefined }) };
    this.put(target, renamed, isSame ? "renamed with an alias" : "renamed");
  }

  private takeOver(): void {
    const { foreign } = this.rules;
    if (foreign === undefined || this.resources.some(({ options }) => options.import)) return;
    const { id, project, name, image } = foreign;
    const pair = this.resources[0]?.resource.split("-")[0] ?? "";
    const args = { project, name, image, network: "net-1", flavor: this.random.pick(FLAVORS) };
    this.resources = [
      ...this.resources,
      { type: "Instance", resource: `${pair}-x`, args, options: { import: id } },
    ];
    this.words.push(`${id} imported`);
  }

  private put(old: Declared, next: Declared, words: string): void {
    this.resources = this.resources.map((resource) => (resource === old ? next : resource));
    this.words.push(`${old.resource}: ${words}`);
  }

  private instance(isMeant: (declared: Declared) => boolean = () => true): Declared | undefined {
    const instances = this.resources.filter((declared) => declared.type === "Instance" && isMeant(declared));
    return instances.length === 0 ? undefined : one(this.random, instances);
  }
}

function outputsIn(given: Given): string[] {
  if (given instanceof Output) return [given.resource];
  if (Array.isArray(given)) return given.flatMap(outputsIn);
  return isMap(given) ? Object.values(given).flatMap(outputsIn) : [];
}

function isMap(given: Given): given is { readonly [key: string]: Given } {
  const isOther = given instanceof Output || given instanceof Secret || given instanceof Undefined;
  return typeof given === "object" && !Array.isArray(given) && !isOther;
}

type Loose = { readonly [K in keyof Options]: Options[K] | undefined };

function defined(options: Loose): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
