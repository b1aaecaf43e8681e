import type { Random } from "../random";
import { type Declared, type Given, type Options, Output, Secret, Undefined } from "./declared";

/** What somebody else has at the service, and a program may take over. */
interface Foreign {
  readonly id: string;
  readonly project: string;
  readonly name: string;
  readonly image: string;
}

/** Two versions of a program, and what was done to get from the first to the second. */
export interface Pair {
  /** What the names of all its resources begin with. */
  readonly name: string;
  readonly before: readonly Declared[];
  readonly after: readonly Declared[];
  readonly changes: readonly string[];
}

export interface Rules {
  /** Whether the service refuses a second object of the same name: then nothing may stay behind. */
  readonly uniqueNames: boolean;
  /** What this pair may take over, if anything. */
  readonly foreign: Foreign | undefined;
}

const IMAGES = ["ubuntu-24.04", "debian-13", "alpine-3"] as const;
const FLAVORS = ["small", "large", "huge"] as const;
const NETWORKS = ["net-1", "net-2"] as const;
const REGIONS = ["eu-1", "us-1"] as const;
const TIERS = ["web", "db", "", "-"] as const;
const IGNORED = [
  "flavor",
  "labels",
  "labels.tier",
  "sshKeys",
  "image",
  "network",
  "name",
  "publicIp",
] as const;
const REPLACING = ["flavor", "labels", "labels.tier", "labels.app", "network", "sshKeys[0]", "*"] as const;

/** A pair of programs at random. */
export function randomPair(random: Random, name: string, rules: Rules): Pair {
  const before = firstProgram(random, name, rules);
  const maker = new Change(random, before, rules);
  const count = random.chance(0.1) ? 0 : random.integer(1, 5);
  for (let at = 0; at < count; at++) maker.one();
  const [first, then] = withProjectsKept([before, maker.resources]);
  return { name, before: first, after: then, changes: maker.words };
}

/** A project can't be deleted while it holds an instance that is left there. */
function withProjectsKept(
  programs: readonly [readonly Declared[], readonly Declared[]],
): [Declared[], Declared[]] {
  const isKept = programs.flat().some(({ type, options }) => type === "Instance" && options.retainOnDelete);
  const kept = (program: readonly Declared[]): Declared[] =>
    program.map((one) =>
      isKept && one.type === "Project" ? { ...one, options: { ...one.options, retainOnDelete: true } } : one,
    );
  return [kept(programs[0]), kept(programs[1])];
}

function firstProgram(random: Random, name: string, rules: Rules): Declared[] {
  const project = (at: number): Declared => ({
    type: "Project",
    resource: `${name}-p${at}`,
    args: { region: random.pick(REGIONS), ...maybe(random, 0.4, { name: `given-${name}-p${at}` }) },
    options: randomOptions(random, rules, name),
  });
  const resources = Array.from({ length: random.chance(0.3) ? 2 : 1 }, (_, at) => project(at));
  const count = random.integer(1, 3);
  for (let at = 0; at < count; at++)
    resources.push(randomInstance(random, `${name}-i${at}`, resources, rules));
  return resources;
}

function randomInstance(
  random: Random,
  resource: string,
  earlier: readonly Declared[],
  rules: Rules,
): Declared {
  const pair = resource.split("-")[0] ?? "";
  const projects = earlier.filter(({ type }) => type === "Project");
  return {
    type: "Instance",
    resource,
    args: {
      project: new Output(one(random, projects).resource, "id"),
      image: random.pick(IMAGES),
      flavor: random.pick(FLAVORS),
      network: randomNetwork(random, earlier),
      ...maybe(random, 0.4, { name: `given-${resource}` }),
      ...maybe(random, 0.4, { publicIp: random.chance(0.8) ? "auto" : new Undefined() }),
      ...maybe(random, 0.5, { sshKeys: randomKeys(random, resource) }),
      ...maybe(random, 0.6, { labels: randomLabels(random, earlier) }),
    },
    options: randomOptions(random, rules, pair),
  };
}

function randomOptions(random: Random, { uniqueNames }: Rules, pair: string): Options {
  const seconds = (): string => `${random.integer(60, 90)}s`;
  return {
    ...maybe(random, 0.15, { ignoreChanges: [random.pick(IGNORED)] }),
    ...maybe(random, 0.15, { replaceOnChanges: [random.pick(REPLACING)] }),
    ...maybe(random, 0.1, { deleteBeforeReplace: true }),
    ...maybe(random, uniqueNames ? 0 : 0.1, { retainOnDelete: true }),
    ...maybe(random, 0.2, { customTimeouts: { create: seconds(), update: seconds(), delete: seconds() } }),
    ...maybe(random, 0.15, { parent: `${pair}-group` }),
  };
}

function randomNetwork(random: Random, earlier: readonly Declared[]): Given {
  if (random.chance(0.6)) return random.pick(NETWORKS);
  return randomOutput(random, earlier);
}

/** What is there of each resource, whatever the service is like. */
function randomOutput(random: Random, earlier: readonly Declared[]): Output {
  const { type, resource } = one(random, earlier);
  return new Output(
    resource,
    type === "Project" ? random.pick(["id", "name"]) : random.pick(["id", "name", "url", "status"]),
  );
}

/** Of one resource they hold a secret in each version of the program, or in none. */
function randomKeys(random: Random, resource: string): Given {
  const key = (): string =>
    `ssh-ed25519 AAAA${resource.replaceAll("-", "")}${random.integer(1, 3)} ${random.pick(["me", "you@host"])}`;
  const keys = Array.from({ length: random.integer(0, 2) }, key);
  if (random.chance(0.2)) keys.push(...keys.slice(0, 1));
  if (!/i[12]$/.test(resource)) return keys;
  return [...keys, new Secret(`ssh-ed25519 AAAA${random.seed()} hidden`)];
}

function randomLabels(random: Random, earlier: readonly Declared[]): { readonly [key: string]: Given } {
  return {
    ...maybe(random, 0.7, { tier: random.pick(TIERS) }),
    ...maybe(random, 0.5, { app: `a${random.integer(1, 9)}` }),
    ...maybe(random, 0.2, { "odd/key.x": "1" }),
    ...maybe(random, 0.2, { hidden: new Secret(`label ${random.seed()}`) }),
    ...maybe(random, 0.2, { of: randomOutput(random, earlier) }),
    ...maybe(random, 0.1, { none: new Undefined() }),
  };
}

/** One change of a program after the other, each as a person could make it. */
class Change {
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
    // Another parent is another URN, as another name is.
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

  /** Of what nothing refers to. */
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

function maybe<T extends object>(random: Random, probability: number, value: T): T | Record<never, never> {
  return random.chance(probability) ? value : {};
}

type Loose = { readonly [K in keyof Options]: Options[K] | undefined };

function defined(options: Loose): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function one<T>(random: Random, choices: readonly T[]): T {
  const [first, ...rest] = choices;
  if (first === undefined) throw new Error("there is nothing to choose from");
  return random.pick([first, ...rest]);
}
