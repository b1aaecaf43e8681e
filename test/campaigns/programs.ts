import type { Random } from "./random";

export interface DeclaredResource {
  /** The resource's name in the program. */
  readonly resource: string;
  /** Its former names, for which it has aliases. */
  readonly formerly?: readonly string[];
  /** The option `version`. Each version has its own provider process. */
  readonly version?: string | undefined;
  /** Whether it has an explicit provider, and therefore a separate provider process. */
  readonly explicit?: boolean;
  /** The given name at the service, if any. */
  readonly name?: string;
}

interface DeclaredProject extends DeclaredResource {
  readonly region: string;
}

export interface DeclaredInstance extends DeclaredResource {
  readonly image: string;
  readonly flavor: string;
  readonly publicIp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Secrets in the program. */
  readonly sshKeys?: readonly string[];
  /** The options `ignoreChanges` and `replaceOnChanges`. */
  readonly ignores?: readonly ("flavor" | "image")[];
  readonly replacesOn?: readonly ("flavor" | "labels")[];
  /** The option `import`: the id of an existing instance. Users leave the option in the program. */
  readonly imports?: string;
}

/** The resources of a program. */
export interface Program {
  readonly project: DeclaredProject;
  readonly instances: readonly DeclaredInstance[];
}

export const NETWORK = "net-1";

const IMAGES = ["ubuntu-24.04", "debian-13", "alpine-3"] as const;
const FLAVORS = ["small", "large", "huge"] as const;
const REGIONS = ["eu-1", "us-1"] as const;

/** Returns a project with one to three instances. */
export function randomProgram(random: Random): Program {
  const resource = `p${random.integer(0, 9)}`;
  const project = { resource, ...maybeNamed(random, resource), region: random.pick(REGIONS) };
  const count = random.integer(1, 3);
  return { project, instances: Array.from({ length: count }, (_, at) => randomInstance(random, `web${at}`)) };
}

export function randomInstance(random: Random, resource: string): DeclaredInstance {
  return {
    resource,
    ...maybeNamed(random, resource),
    image: random.pick(IMAGES),
    flavor: random.pick(FLAVORS),
    ...(random.chance(0.3) && { publicIp: "auto" }),
    ...(random.chance(0.5) && { labels: randomLabels(random) }),
    ...(random.chance(0.4) && { sshKeys: [`ssh-ed25519 AAAA${random.seed()} me`] }),
  };
}

/** Sometimes adds `ignoreChanges` or `replaceOnChanges`. */
export function withOptions(random: Random, instance: DeclaredInstance): DeclaredInstance {
  return {
    ...instance,
    ...(random.chance(0.2) && { ignores: [random.pick(["flavor", "image"] as const)] }),
    ...(random.chance(0.2) && { replacesOn: [random.pick(["flavor", "labels"] as const)] }),
  };
}

/** Returns an instance with other values for properties that can change in place. */
export function changedInPlace(random: Random, instance: DeclaredInstance): DeclaredInstance {
  const flavor = other(random, FLAVORS, instance.flavor);
  return random.chance(0.5)
    ? { ...instance, flavor }
    : { ...instance, labels: { ...randomLabels(random), changed: String(random.seed()) } };
}

/** Returns whether `next` removes label keys of `program`. */
export function dropsLabels(program: Program, next: Program): boolean {
  return program.instances.some(({ resource, labels = {} }) => {
    const left = next.instances.find((instance) => instance.resource === resource)?.labels ?? {};
    return Object.keys(labels).some((key) => !(key in left));
  });
}

/** Returns an instance with another value for a property that requires a replacement. */
export function changedForReplacement(random: Random, instance: DeclaredInstance): DeclaredInstance {
  return { ...instance, image: other(random, IMAGES, instance.image) };
}

export function inAnotherRegion(random: Random, { project, instances }: Program): Program {
  return { project: { ...project, region: other(random, REGIONS, project.region) }, instances };
}

function maybeNamed(random: Random, resource: string): { name?: string } {
  return random.chance(0.4) ? { name: `given-${resource}` } : {};
}

function randomLabels(random: Random): Record<string, string> {
  return { tier: random.pick(["web", "db"]), app: `a${random.integer(1, 99)}` };
}

function other<T extends string>(random: Random, choices: readonly T[], old: string): T {
  const [first, ...rest] = choices.filter((choice) => choice !== old);
  if (first === undefined) throw new Error("there is no other value");
  return random.pick([first, ...rest]);
}

/** Returns every resource that a program declares. */
export function resourcesOf({ project, instances }: Program): DeclaredResource[] {
  return [project, ...instances];
}

const EXPLICIT = `
class CloudInfra extends pulumi.ProviderResource {
  constructor(name) {
    const config = new pulumi.Config("cloudinfra");
    const settings = { "cloudinfra:endpoint": config.require("endpoint"), "cloudinfra:token": config.requireSecret("token") };
    super("pulumi-nodejs", name, settings);
  }
}
const explicit = new CloudInfra("explicit");`;

/** Returns the program's source code. */
export function sourceOf({ project, instances }: Program): string {
  const { resource, formerly: _, version: __, explicit: ___, ...args } = project;
  return [
    ...([project, ...instances].some(({ explicit }) => explicit) ? [EXPLICIT] : []),
    `const project = new Project(${JSON.stringify(resource)}, ${JSON.stringify(args)}${optionsSource(project)});`,
    ...instances.map(instanceSource),
  ].join("\n");
}

function instanceSource(instance: DeclaredInstance): string {
  const {
    resource,
    sshKeys,
    ignores,
    replacesOn,
    imports,
    formerly: _,
    version: __,
    explicit: ___,
    ...args
  } = instance;
  const keys = sshKeys?.map((key) => `pulumi.secret(${JSON.stringify(key)})`).join(", ");
  const plain = JSON.stringify({ ...args, network: NETWORK });
  const others = keys === undefined ? "" : `, sshKeys: [${keys}]`;
  return `new Instance(${JSON.stringify(resource)}, { ...${plain}, project: project.id${others} }${optionsSource(instance)});`;
}

function optionsSource(declared: DeclaredResource | DeclaredInstance): string {
  const {
    formerly = [],
    version,
    explicit,
    ignores,
    replacesOn,
    imports,
  } = { ignores: [], replacesOn: [], imports: undefined, ...declared };
  const options = [
    ...(ignores.length > 0 ? [`ignoreChanges: ${JSON.stringify(ignores)}`] : []),
    ...(replacesOn.length > 0 ? [`replaceOnChanges: ${JSON.stringify(replacesOn)}`] : []),
    ...(formerly.length > 0 ? [`aliases: ${JSON.stringify(formerly.map((name) => ({ name })))}`] : []),
    ...(version === undefined ? [] : [`version: ${JSON.stringify(version)}`]),
    ...(explicit ? ["provider: explicit"] : []),
    ...(imports === undefined ? [] : [`import: ${JSON.stringify(imports)}`]),
  ];
  return options.length === 0 ? "" : `, { ${options.join(", ")} }`;
}
