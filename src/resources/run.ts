import * as pulumi from "@pulumi/pulumi";
import type { FoundInstance, FoundProject, InstanceFilter } from "../provider/functions";

/** The objects that functions find without a service. */
interface MockedObjects {
  readonly instances: (filter: InstanceFilter) => readonly FoundInstance[];
  readonly projects: readonly FoundProject[];
}

/**
 * What this package remembers during one run of one program. With the Automation API, a process runs several programs, also at the same
 * time. If a library brings a copy of this package, both copies share what they remember.
 */
export interface Run {
  hasWarnedOfToken: boolean;
  /** The URNs of the resources that the engine has registered, and their objects. */
  readonly registered: Set<string>;
  /** In unit tests: what the service has, in place of requests. */
  found?: MockedObjects;
}

const KEY = Symbol.for("pulumi-cloudinfra.run");

const newRun = (): Run => ({ hasWarnedOfToken: false, registered: new Set() });

/** The run of a program that is executed without an engine. */
const alone = newRun();

/** Returns what is remembered of the run that the caller belongs to. */
export function currentRun(): Run {
  const owner: object | undefined = pulumi.runtime.getStackResource() ?? pulumi.runtime.getMonitor();
  if (owner === undefined) return alone;
  const known: unknown = Reflect.get(owner, KEY);
  if (isRun(known)) return known;
  const run = newRun();
  Reflect.set(owner, KEY, run);
  return run;
}

function isRun(value: unknown): value is Run {
  return (
    typeof value === "object" && value !== null && "registered" in value && value.registered instanceof Set
  );
}

/** Returns the setting as the provider reads it: the stack's setting, or else the environment's. */
export function journalDir(): string | undefined {
  const texts = [new pulumi.Config("cloudinfra").get("journalDir"), process.env.CLOUDINFRA_JOURNAL_DIR];
  return texts.map((text) => text?.trim()).find(Boolean);
}
