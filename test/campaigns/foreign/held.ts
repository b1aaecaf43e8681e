import type { Properties } from "../../../src/model/state";
import type { StateResource } from "../../harness/engine";
import { inClear } from "../../harness/state";
import type { Saved } from "../../provider/service";
import { type DeclaredInstance, NETWORK } from "../programs";

/** What the state has of an instance of the program. */
export interface Held extends Saved {
  readonly declared: DeclaredInstance;
}

/** Those of the program's instances that a state holds. */
export function heldIn(states: readonly StateResource[], instances: readonly DeclaredInstance[]): Held[] {
  return instances.flatMap((declared) => {
    const state = states.find(({ urn }) => urn.endsWith(`::${declared.resource}`));
    return state?.id === undefined ? [] : heldOf(declared, state.id, state);
  });
}

function heldOf(declared: DeclaredInstance, id: string, { inputs, outputs }: StateResource): Held {
  return { declared, id, inputs: clear(inputs), state: clear(outputs) };
}

function clear(properties: unknown): Properties {
  return { ...Object(inClear(properties ?? {})) };
}

/** An instance's arguments as the provider gets them. */
export function argsOf({ resource: _resource, ...args }: DeclaredInstance): Properties {
  return { ...args, network: NETWORK };
}
