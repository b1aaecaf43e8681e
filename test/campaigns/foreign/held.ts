import type { Properties } from "../../../src/model/state";
import type { StateResource } from "../../harness/engine";
import { inClear } from "../../harness/state";
import type { Saved } from "../../provider/service";
import { type DeclaredInstance, NETWORK } from "../programs";

/** An instance of the program in the state. */
export interface Held extends Saved {
  readonly declared: DeclaredInstance;
}

/** Returns the program's instances in a state. */
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

/** Returns an instance's arguments as the provider receives them. */
export function argsOf({ resource: _resource, ...args }: DeclaredInstance): Properties {
  return { ...args, network: NETWORK };
}
