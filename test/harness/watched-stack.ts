import type { Deployment, Engine, Stack, StackOptions } from "./engine";
import type { Leaks } from "./leaks";

/**
 * What Pulumi's SDK itself says at debug level: the engine's whole answer to a registration, secret properties in clear.
 * Every program does so, whatever its resources are.
 */
const SDK_TRACE = /\b(?:Register|Read)Resource(?:Outputs)? RPC finished: /;

/** A stack that is searched for leaks. */
export interface WatchedStack {
  readonly stack: Stack;
  /** Looks at the state as it is now, and at all that the engine keeps. */
  look(): Promise<void>;
}

/** Opens a stack of which all that it says, at every severity, and every state that is asked for, is searched for leaks. */
export async function openWatched(
  engine: Engine,
  options: StackOptions,
  leaks: Leaks,
): Promise<WatchedStack> {
  let showsSecrets = false;
  const readers = () => (showsSecrets ? "the owner" : "anybody");
  const overhear = (where: string, text: string): void =>
    leaks.said(where, text, SDK_TRACE.test(text) ? "the owner" : readers());
  const stack = await engine.open({ ...options, overhear });
  let runs = 0;
  let isStateSeen = false;

  const deployment = async (): Promise<Deployment> => {
    const state = await stack.deployment();
    leaks.state("the state", state);
    isStateSeen = true;
    return state;
  };
  const watched: Stack = {
    deployment,
    run: async (command, runOptions = {}) => {
      isStateSeen &&= command === "preview";
      showsSecrets = runOptions.showSecrets ?? false;
      runs += 1;
      const result = await stack.run(command, runOptions);
      leaks.ran(`${command}, run ${runs}`, result, readers());
      return result;
    },
    setConfig: (key, value) => stack.setConfig(key, value),
    removeConfig: (key) => stack.removeConfig(key),
    import: async (state) => {
      isStateSeen = false;
      await stack.import(state);
    },
    dispose: () => stack.dispose(),
  };
  const look = async (): Promise<void> => {
    if (!isStateSeen) await deployment();
    if (stack.kept !== undefined) leaks.files("what the engine keeps,", stack.kept, "anybody");
  };
  return { stack: watched, look };
}
