import { randomUUID } from "node:crypto";
import type { Properties } from "../../../src/model/state";
import { EngineResource } from "../host/resource";
import type { Random } from "../random";

/** A change of the program. "nothing" only does what another machine's journal requires. */
export type Action = "create" | "read" | "update" | "replace" | "delete" | "nothing";

const REGIONS = ["eu-1", "us-1"] as const;
const IMAGES = ["debian-13", "ubuntu-24.04", "alpine-3"] as const;
const NETWORKS = ["default", "backend"] as const;
const FLAVORS = ["m1.small", "m1.large", "m1.huge"] as const;

export interface SlotOptions {
  readonly kind: "project" | "instance";
  /** The resource's name in the program. The names of its objects start with it and a dash. */
  readonly name: string;
  /** Whether the program gives the object's name. */
  readonly isNamed: boolean;
  /** The network, if it is secret. */
  readonly secret: string | undefined;
  /** Whether the timeouts of calls are shorter than the longest operation, or hardly longer. */
  readonly isHurried: boolean;
}

/** A resource that the program sometimes declares. */
export class Slot {
  readonly resource: EngineResource;
  /** The program's arguments, or undefined if the program doesn't declare the resource. */
  wanted: Properties | undefined;

  constructor(readonly options: SlotOptions) {
    const type = options.kind === "project" ? "Project" : "Instance";
    this.resource = new EngineResource(
      `urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:${type}::${options.name}`,
    );
  }

  /** The name of the slot's objects if the program gives one. */
  get givenName(): string {
    return `${this.options.name}-given`;
  }

  /** Returns the inputs as the program registers them, with a fresh key for each run. */
  news(): Properties | undefined {
    if (this.wanted === undefined) return undefined;
    const { kind, secret, isHurried } = this.options;
    return {
      ...this.wanted,
      __provider: `exports.handler=()=>require("pulumi-cloudinfra/provider").${kind}`,
      __urn: this.resource.urn,
      __key: randomUUID(),
      __keyAt: Date.now(),
      ...(secret !== undefined && { __secrets: ["network"] }),
      ...(isHurried && { __timeouts: { create: "40s", update: "50s", delete: "40s" } }),
    };
  }

  /** Returns the actions that are possible now. */
  actions(): [Action, ...Action[]] {
    if (this.wanted === undefined) return ["create"];
    const all: [Action, ...Action[]] = ["read", "replace", "replace", "delete"];
    return this.options.kind === "project" ? all : [...all, "update", "update", "update"];
  }

  /** Changes the program. @param projects the possible projects of instances */
  apply(action: Action, random: Random, projects: readonly [string, ...string[]]): void {
    if (action === "delete") this.wanted = undefined;
    else if (action === "create") this.wanted = this.first(random, projects);
    else if (action === "replace") this.wanted = this.replaced(random, projects);
    else if (action === "update") this.wanted = this.updated(random);
  }

  private first(random: Random, projects: readonly [string, ...string[]]): Properties {
    const name = this.options.isNamed && { name: this.givenName };
    if (this.options.kind === "project") return { ...name, region: random.pick(REGIONS) };
    return {
      ...name,
      project: random.pick(projects),
      image: random.pick(IMAGES),
      flavor: random.pick(FLAVORS),
      network: this.network(random.pick(NETWORKS)),
      ...(random.chance(0.5) && { publicIp: "auto" }),
      ...(random.chance(0.5) && { sshKeys: [sshKey(random)] }),
      ...(random.chance(0.7) && { labels: { team: "web", tier: String(random.integer(1, 9)) } }),
    };
  }

  private replaced(random: Random, projects: readonly [string, ...string[]]): Properties {
    if (this.options.kind === "project")
      return { ...this.wanted, region: other(random, REGIONS, this.wanted?.region) };
    return projects.length > 1 && random.chance(0.3)
      ? { ...this.wanted, project: other(random, projects, this.wanted?.project) }
      : { ...this.wanted, image: other(random, IMAGES, this.wanted?.image) };
  }

  private updated(random: Random): Properties {
    const flavor = other(random, FLAVORS, this.wanted?.flavor);
    const made: [Properties, ...Properties[]] = [
      { flavor },
      { network: this.network(other(random, NETWORKS, this.wanted?.network)), flavor },
      { labels: { team: "ops", tier: String(random.integer(10, 99)) } },
    ];
    const hidden: Properties[] = [
      { sshKeys: [sshKey(random), sshKey(random)] },
      { labels: undefined, flavor },
      { sshKeys: undefined, publicIp: this.wanted?.publicIp === undefined ? "auto" : undefined },
    ];
    // Replies may not show SSH keys or that an argument was removed. After a timeout, the update is sent again, and takes as long.
    const changes: [Properties, ...Properties[]] = this.options.isHurried ? made : [...made, ...hidden];
    const all = Object.entries({ ...this.wanted, ...random.pick(changes) });
    return Object.fromEntries(all.filter(([, value]) => value !== undefined));
  }

  private network(name: string): string {
    return this.options.secret ?? name;
  }
}

function other(random: Random, choices: readonly string[], old: unknown): string {
  const [first, ...rest] = choices.filter((choice) => choice !== old);
  if (first === undefined) throw new Error("there is no other value");
  return random.pick([first, ...rest]);
}

function sshKey(random: Random): string {
  return `ssh-ed25519 AAAA${random.seed()} ada`;
}

/** Returns the resources of the program: twelve projects and 36 instances with all combinations. */
export function slots(secret: string): Slot[] {
  const each = (kind: SlotOptions["kind"], count: number): Slot[] =>
    Array.from({ length: count }, (_, number) => {
      const name = `${kind[0]}${String(number).padStart(2, "0")}`;
      const isSecret = kind === "instance" && number % 4 === 1;
      const isHurried = number % 3 === 0;
      return new Slot({
        kind,
        name,
        isNamed: number % 2 === 0,
        secret: isSecret ? secret : undefined,
        isHurried,
      });
    });
  return [...each("instance", 36), ...each("project", 12)];
}
