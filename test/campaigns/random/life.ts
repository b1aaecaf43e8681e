import { connectionsOf } from "../../../src/api/connections";
import { assignAddress } from "../../../src/emulator/instances";
import type { StoredInstance } from "../../../src/emulator/state";
import { type Properties, parseRecorded } from "../../../src/model/state";
import { HostError, type HostProvider } from "../../../src/provider/host";
import { EngineLog, type StatusLog } from "../../../src/provider/progress";
import { restoreDates } from "../../polling/dates";
import { EngineCalls } from "../../provider/engine-calls";
import { openProviders, Signals } from "../../provider/providers";
import { overTheWire } from "../host/wire";
import type { Case, Step, Up } from "./case";
import { claimsOf } from "./claims";
import { damaged, damagedText } from "./damage";
import { listing } from "./listing";
import { ENDPOINT, Scene, secretsOf } from "./scene";
import { countOne, type Tally } from "./tally";
import { watched } from "./watched";

/** Runs one case to its end, or to the first violation. */
export async function live(one: Case, tally: Tally): Promise<Pick<Scene, "breaches" | "story">> {
  const scene = new Scene(one, tally);
  scene.service.state.projects.add(project("prj-000000x"));
  scene.service.state.instances.add(structuredClone(foreign));
  const row = new Row(scene);
  try {
    for (const step of one.steps) {
      await row.take(step);
      if (scene.breaches.length > 0) break;
    }
  } finally {
    restoreDates();
  }
  scene.count();
  return scene;
}

function project(id: string) {
  return { id, createdAt: 0, fields: { name: "others", region: "eu-1" } };
}

/** An instance of somebody else, which the program may adopt. If ids follow names, its id follows its name. */
const foreign: StoredInstance = {
  id: "ins-foreign",
  createdAt: 0,
  updatedAt: 0,
  status: "running",
  revision: "r0",
  fields: {
    ...{
      project: "prj-000000x",
      name: "ins-foreign",
      image: "debian-13",
      flavor: "m1.small",
      network: "default",
    },
    ...{ ssh_keys: [], labels: {} },
  },
};

/** Longer than any call may take. */
const TOO_LONG_MS = 10 * 3_600_000;

/** The case's resource in the state. Each step is a command with its own provider process. */
class Row extends EngineCalls {
  private ups = 0;

  constructor(private readonly scene: Scene) {
    super();
    scene.saved = () => (this.saved === undefined ? this.replaced : [this.saved, ...this.replaced]);
  }

  async take(step: Step): Promise<void> {
    const { state } = this.scene.service;
    switch (step.do) {
      case "up":
        return this.command((provider) => this.up(provider, step), step.interruptedAfterMs);
      case "refresh":
        return this.saved === undefined ? undefined : this.command((provider) => this.refreshWith(provider));
      case "destroy":
        return this.command((provider) => this.destroy(provider, step.refresh));
      case "list":
        return listing(this.scene, this.settings);
      case "damage": {
        this.scene.isDamaged = true;
        if ("properties" in step.damage && "__secrets" in step.damage.properties)
          this.scene.secretIsTold = true;
        countOne(this.scene.tally.damages, step.damage.of);
        if (step.damage.of === "journal") {
          const { files } = this.scene.disk;
          for (const [file, text] of files) files.set(file, damagedText(text, step.damage));
        } else if (this.saved !== undefined) this.saved = damaged(this.saved, step.damage);
        return;
      }
      case "edit":
        for (const instance of state.instances.byId.values()) {
          instance.fields[step.field] = step.value;
          if (step.field === "public_ip") assignAddress(state, instance);
          state.changed(instance, state.now());
        }
        return;
      case "hide":
        state.behaviour.hiddenProjects = step.hides ? ["*"] : [];
        return;
      case "remove":
        for (const id of [...state.instances.byId.keys()]) state.instances.remove(id);
    }
  }

  private get settings(): Readonly<Record<string, string>> {
    const { token, operationTimeout } = this.scene.one;
    return { endpoint: ENDPOINT, token, operationTimeout, journalDir: "/journal" };
  }

  private async up(provider: HostProvider, step: Up): Promise<void> {
    const { odd } = step;
    this.ups += 1;
    if ("__secrets" in odd) this.scene.secretIsTold = true;
    const olds = this.saved?.inputs ?? {};
    const { failures } = await provider.check(olds, { ...this.news(step), ...odd });
    const isOdd = Object.values(odd).some((value) => JSON.stringify(value)?.includes("04da6b54"));
    const news = failures.length > 0 || isOdd ? this.news(step) : { ...this.news(step), ...odd };
    if (isOdd && this.saved !== undefined) {
      const { inputs } = await provider.check(olds, { ...this.news(step), ...odd });
      await provider.diff(this.saved.id, this.saved.state, inputs);
    }
    await this.apply(provider, news, {});
    await this.deleteReplaced(provider);
  }

  private async destroy(provider: HostProvider, refresh: boolean): Promise<void> {
    const from = this.scene.served.exchanges.length;
    // The service may have given the object another id with its new name.
    const { pending } = parseRecorded(this.saved?.state ?? {});
    const id = this.isDeleted ? undefined : (pending?.otherId ?? this.saved?.id);
    const { secretIsTold } = this.scene;
    // Without a program, the provider knows only the secrets in the state. A refresh may have removed the secrets of a failed update.
    this.scene.secretIsTold ||= !this.scene.containsSecret(JSON.stringify(this.saved ?? {}));
    await this.destroyWith(provider, refresh);
    this.scene.secretIsTold = secretIsTold;
    if (id !== undefined) claimsOf(this.scene).destroyed(id, from);
  }

  /** Returns the inputs as the program registers them. */
  private news({ args, key, timeouts, imports }: Up): Properties {
    const { kind, resource, secret, ignores } = this.scene.one;
    const secrets = secretsOf(this.scene.one);
    const type = kind === "project" ? "Project" : "Instance";
    const usual: Properties =
      kind === "project"
        ? { region: "eu-1" }
        : { project: "prj-000000x", image: "debian-13", flavor: "m1.small", network: "default" };
    const known =
      kind === "project"
        ? ["name", "region"]
        : [...Object.keys(usual), "name", "publicIp", "sshKeys", "labels"];
    const given = Object.entries({ ...args, ...secretArguments(secrets, secret) }).filter(([name]) =>
      known.includes(name),
    );
    const declared: Properties = { ...usual, ...Object.fromEntries(given) };
    // For ignored properties, the engine uses the values of the state's inputs.
    const { inputs = declared } = this.saved ?? {};
    const kept = ignores.filter((name) => known.includes(name)).map((name) => [name, inputs[name]]);
    const all = Object.entries({ ...declared, ...Object.fromEntries(kept) });
    return {
      ...Object.fromEntries(all.filter(([, value]) => value !== undefined)),
      ...(kept.length > 0 && { __ignoreChanges: ignores }),
      __provider: `exports.handler=()=>require("pulumi-cloudinfra/provider").${kind}`,
      __urn: `urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:${type}::${resource}`,
      // A different key for each run, even if shrinking has made all keys the same.
      __key: `${this.ups.toString(16)}${key.slice(1)}`,
      __keyAt: Date.now(),
      __secrets: secrets,
      ...(imports && kind === "instance" && { __import: foreign.id }),
      ...(timeouts && { __timeouts: timeouts }),
    };
  }

  private async command(
    work: (provider: HostProvider) => Promise<void>,
    interruptedAfterMs?: number,
  ): Promise<void> {
    const { clock, one, disk, served } = this.scene;
    const signals = new Signals();
    this.scene.interruptedAt = Number.POSITIVE_INFINITY;
    const heard = (where: string) => (message: string) => this.scene.heard(where, message);
    const providers = await openProviders(this.settings, {
      clock,
      signals,
      warn: heard("a warning"),
      log: new HeardLog(heard("a row")),
      outside: { dispatcher: connectionsOf(served), disk: disk.asDisk(), random: () => 0.5 },
    });
    const provider = one.kind === "project" ? providers.projects : providers.instances;
    let calledOff = (): unknown => undefined;
    if (interruptedAfterMs !== undefined)
      calledOff = clock.alarm(interruptedAfterMs, () => {
        this.scene.interruptedAt = clock.now();
        signals.emit("SIGTERM", "SIGTERM");
      });
    const done = work(overTheWire(watched(provider, this.scene))).catch((error: unknown) => {
      const isExpected =
        error instanceof HostError || (error instanceof Error && error.constructor === Error);
      if (!isExpected)
        this.scene.broke(`a bug in the campaign: ${error instanceof Error ? error.stack : String(error)}`);
    });
    if (!(await clock.during(done, clock.now() + TOO_LONG_MS)))
      this.scene.broke("it hangs: no event is left");
    calledOff();
  }
}

function secretArguments(names: readonly string[], secret: string): Properties {
  const values: Properties = { sshKeys: [secret], labels: { owner: secret, [secret]: "owner" } };
  return Object.fromEntries(names.map((name) => [name, values[name] ?? secret]));
}

class HeardLog extends EngineLog {
  constructor(private readonly heard: (message: string) => void) {
    super(undefined);
  }

  override statusLogFor(): StatusLog {
    return { write: async (message) => this.heard(message) };
  }

  override async warn(message: string): Promise<void> {
    this.heard(message);
  }
}
