import { randomUUID } from "node:crypto";
import type { Properties } from "../../../src/model/state";
import type { Random } from "../random";

export type Kind = "project" | "instance";

const REGIONS = ["eu-1", "us-1"] as const;
const IMAGES = ["debian-13", "ubuntu-24.04", "alpine-3"] as const;
const FLAVORS = ["m1.small", "m1.large", "m1.huge"] as const;
const NETWORKS = ["default", "backend"] as const;

const IGNORED = ["flavor", "network", "labels", "sshKeys", "publicIp", "image"] as const;

const URN = "urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra";

/** A program with one resource, and its changes. */
export class Program {
  readonly urn: string;
  args: Properties;
  /** The properties that the option `ignoreChanges` lists. */
  readonly ignored: readonly string[];
  private readonly isSecret: boolean;
  private readonly isHurried: boolean;
  private readonly isAuto: boolean;
  private addresses = 0;

  constructor(
    readonly kind: Kind,
    private readonly random: Random,
    /** The project of an instance. */
    private readonly project: string,
  ) {
    this.urn = `${URN}:${kind === "project" ? "Project" : "Instance"}::web`;
    this.isSecret = random.chance(0.3);
    this.isHurried = random.chance(0.25);
    this.isAuto = random.chance(0.5);
    const ignores = kind === "instance" && random.chance(0.3);
    this.ignored = ignores ? [random.pick(IGNORED)] : [];
    this.args = this.first();
  }

  /** Returns the desired values of an existing resource. Ignored properties stay. @param inputs the inputs in the state */
  wanted(inputs: Properties = this.args): Properties {
    const kept = Object.fromEntries(this.ignored.map((name) => [name, inputs[name]]));
    return { ...this.args, ...kept };
  }

  /** The names of the program's secret properties. */
  get secrets(): readonly string[] {
    return this.isSecret && this.kind === "instance" ? ["sshKeys"] : [];
  }

  /** Returns the current secret strings. */
  secretTexts(): string[] {
    return this.secrets.flatMap((name) => this.args[name] ?? []).map(String);
  }

  /**
   * Returns the inputs as the program registers them, with a fresh key for each run. @param calmly whether updates have
   * the full timeout
   */
  news(calmly: boolean): Properties {
    return {
      ...this.args,
      __provider: `exports.handler=()=>require("pulumi-cloudinfra/provider").${this.kind}`,
      __urn: this.urn,
      __key: randomUUID(),
      __keyAt: Date.now(),
      ...(this.secrets.length > 0 && { __secrets: this.secrets }),
      ...(this.ignored.length > 0 && { __ignoreChanges: this.ignored }),
      ...(this.isHurried && !calmly && { __timeouts: { update: "2s" } }),
    };
  }

  /** Sets, changes or removes one to three arguments. */
  changeInPlace(): void {
    if (this.kind === "project") return;
    const changes = this.random.shuffled(this.changes()).slice(0, this.random.integer(1, 3));
    this.take(Object.assign({}, ...changes));
  }

  changeForReplacement(): void {
    if (this.kind === "project") this.take({ region: this.another(REGIONS, this.args.region) });
    else this.take({ image: this.another(IMAGES, this.args.image) });
  }

  private first(): Properties {
    const { random } = this;
    const name = random.chance(0.6) ? { name: "given" } : {};
    if (this.kind === "project") return { ...name, region: random.pick(REGIONS) };
    return {
      ...name,
      project: this.project,
      image: random.pick(IMAGES),
      flavor: random.pick(FLAVORS),
      network: random.pick(NETWORKS),
      ...(random.chance(0.4) && { publicIp: this.address() }),
      ...(random.chance(0.5) && { sshKeys: [this.key()] }),
      ...(random.chance(0.7) && { labels: { team: "web", tier: `t${random.integer(1, 9)}` } }),
    };
  }

  private changes(): Properties[] {
    const { args, random } = this;
    const labels = { ...Object(args.labels) };
    return [
      { flavor: this.another(FLAVORS, args.flavor) },
      { flavor: this.another(FLAVORS, args.flavor) },
      { network: this.another(NETWORKS, args.network) },
      { publicIp: random.chance(0.3) ? undefined : this.address() },
      { sshKeys: random.chance(0.3) ? undefined : [this.key(), this.key()] },
      { labels: random.chance(0.2) ? undefined : { ...labels, tier: `t${random.integer(10, 99)}` } },
      { labels: random.chance(0.5) ? { team: "ops" } : { ...labels, owner: "us" } },
      ...(args.name === undefined ? [] : [{ name: `given-${random.integer(1, 99)}` }]),
    ];
  }

  private take(changes: Properties): void {
    const all = Object.entries({ ...this.args, ...changes });
    this.args = Object.fromEntries(all.filter(([, value]) => value !== undefined));
  }

  /** Always or never "auto", because "auto" and its address are the same for the service. */
  private address(): string {
    this.addresses += 1;
    return this.isAuto ? "auto" : `192.0.2.${this.addresses}`;
  }

  private key(): string {
    return `ssh-rsa OURS${this.random.integer(10_000, 99_999)}`;
  }

  private another(choices: readonly string[], old: unknown): string {
    const [first, ...rest] = choices.filter((choice) => choice !== old);
    if (first === undefined) throw new Error("there is no other value");
    return this.random.pick([first, ...rest]);
  }
}
