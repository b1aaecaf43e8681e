import { validate } from "uuid";
import * as v from "valibot";
import type { Begun } from "../../journal/journal";
import type { Properties } from "../../provider/host";
import { instanceKind, type Kind, projectKind } from "../../provider/kind";
import { creationBody } from "../../provider/values/body";
import { type Hidden, hiddenOf, resourceName } from "../../provider/values/state";
import { type Deployment, inClear, type Resource } from "./deployment";

const kinds: ReadonlyMap<string, Kind> = new Map([
  ["pulumi-nodejs:dynamic/cloudinfra:Project", projectKind],
  ["pulumi-nodejs:dynamic/cloudinfra:Instance", instanceKind],
]);

/** A creation that was cut off and that the state knows nothing of. */
export interface CutOff {
  /** `instance "web"`. */
  readonly what: string;
  readonly urn: string;
  /** The profile that the resource names. */
  readonly profile: string | undefined;
  /** What to note of it; undefined where the state does not tell enough. */
  readonly begun: Begun | undefined;
}

export interface PendingCreations {
  /** Those to note, the latest first, as the engine lists them. */
  readonly cutOff: readonly CutOff[];
  /** How many there are that the state holds meanwhile, under the same key. */
  readonly held: number;
}

/**
 * Sorts the creations of ours that the stack has as pending. Their keys and checked inputs are there since
 * before the request was made.
 *
 * @throws CloudInfraError `input_invalid` where secrets are hidden
 */
export function pendingCreations(deployment: Deployment): PendingCreations {
  const held = heldKeys(deployment);
  const pending = deployment.pending_operations.flatMap(({ type, resource }) => {
    const kind = type === "creating" ? kinds.get(resource.type) : undefined;
    return kind ? [{ kind, urn: resource.urn, inputs: propertiesInClear(resource.inputs) }] : [];
  });
  // Cut off again, a creation is pending twice under one key: what was sent with the key is what came first, the last in the list.
  const each = [...new Map(pending.map((one) => [hiddenOf(one.inputs).__key ?? one.urn, one])).values()];
  const isHeld = ({ inputs }: { inputs: Properties }): boolean => held.has(hiddenOf(inputs).__key ?? "");
  const cutOff = each
    .filter((creation) => !isHeld(creation))
    .map(({ kind, urn, inputs }) => {
      const hidden = hiddenOf(inputs);
      // The provider knows a resource by this input, for it is not told the URN.
      const named = { ...hidden, __urn: hidden.__urn ?? urn };
      const what = `${kind.name} "${resourceName(named)}"`;
      return { what, urn: named.__urn, profile: hidden.profile, begun: begun(kind, named, inputs) };
    });
  return { cutOff, held: each.filter(isHeld).length };
}

/** Older than any key may be: the next `up` then tells of it and sends nothing. */
const UNKNOWN_AGE = 0;

/**
 * Its time is that of its key, and so never later than the request: the state's own is when it was last saved, which any later
 * command may have done.
 */
function begun(
  kind: Kind,
  { __urn: urn, __key: key, __keyAt: at = UNKNOWN_AGE }: Hidden & { readonly __urn: string },
  inputs: Properties,
): Begun | undefined {
  const args = Object.fromEntries(Object.entries(inputs).filter(([name]) => !name.startsWith("__")));
  if (key === undefined || !validate(key) || !v.is(kind.arguments, args)) return undefined;
  return { urn, key, resource: key, body: creationBody(kind.fields, inputs), at, recovered: true };
}

/** The keys of creations that the state knows the outcome of, or knows to be unfinished. */
function heldKeys({ resources }: Deployment): ReadonlySet<string> {
  return new Set(resources.filter(({ type }) => kinds.has(type)).flatMap(keysOf));
}

function keysOf({ inputs, outputs }: Resource): string[] {
  const pending = v.safeParse(v.object({ key: v.string() }), inClear(outputs.__pending));
  const keys = [inputs, outputs].map(({ __key }) => hiddenOf({ __key: inClear(__key) }).__key);
  return [...keys, pending.success ? pending.output.key : undefined].filter((key) => key !== undefined);
}

function propertiesInClear(properties: Properties): Properties {
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, inClear(value)]));
}
