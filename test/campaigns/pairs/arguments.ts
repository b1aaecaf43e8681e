import type { Random } from "../random";
import { type Declared, type Given, type Options, Output, Secret, Undefined } from "./declared";
import { maybe, one } from "./draws";
import type { Rules } from "./rules";

const IMAGES = ["ubuntu-24.04", "debian-13", "alpine-3"] as const;
export const FLAVORS = ["small", "large", "huge"] as const;
export const NETWORKS = ["net-1", "net-2"] as const;
export const REGIONS = ["eu-1", "us-1"] as const;
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

/** Draws an instance that may refer to earlier resources of the program. */
export function randomInstance(
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

export function randomOptions(random: Random, { uniqueNames }: Rules, pair: string): Options {
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

/** Draws an output that the resource has with every service. */
function randomOutput(random: Random, earlier: readonly Declared[]): Output {
  const { type, resource } = one(random, earlier);
  return new Output(
    resource,
    type === "Project" ? random.pick(["id", "name"]) : random.pick(["id", "name", "url", "status"]),
  );
}

/** Draws SSH keys. For one resource, they contain a secret in each version of the program, or in none. */
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
