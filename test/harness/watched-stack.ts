import type { Deployment, Engine, Stack, StackOptions } from "./engine";
import type { Leaks } from "./leaks";

/**
 * Lines of verbose logs in which Pulumi itself shows what goes between its processes, secrets and settings in clear: the engine
 * from `-v=9` on, the SDK at debug level. Who asks for them sees that of every program and provider.
 */
const PULUMIS_OWN =
  /^.*\b(?:(?:Unm|M)arshaling property for RPC\[|(?:Register|Read)Resource(?:Outputs)? RPC finished: ).*$/gm;

export function withoutPulumisOwn(text: string): string {
  return text.replace(PULUMIS_OWN, "");
}

/** What makes Pulumi, Node and the packages of a program tell all that they can. */
export const MOST_VERBOSE: Readonly<Record<string, string>> = {
  ...{ PULUMI_OPTION_DEBUG: "true", PULUMI_OPTION_LOGFLOW: "true" },
  ...{ PULUMI_OPTION_LOGTOSTDERR: "true", PULUMI_OPTION_VERBOSE: "9" },
  ...{ NODE_DEBUG: "undici,http,http2,net,tls", DEBUG: "*" },
};

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
    leaks.said(where, withoutPulumisOwn(text), readers());
  const stack = await engine.open({ ...options, overhear });
  let runs = 0;
  let isStateSeen = false;

  const deployment = async (): Promise<Deployment> => {
    const state = await stack.deployment();
    leaks.state("the state", state);
    isStateSeen = true;
    return state;
  };
  const changed = async (change: Promise<void>): Promise<void> => {
    isStateSeen = false;
    await change;
  };
  const watched: Stack = {
    deployment,
    run: async (command, runOptions = {}) => {
      isStateSeen &&= command === "preview";
      showsSecrets = runOptions.showSecrets ?? false;
      runs += 1;
      const result = await stack.run(command, runOptions);
      const output = withoutPulumisOwn(result.output);
      leaks.ran(`${command}, run ${runs}`, { ...result, output }, readers());
      return result;
    },
    setConfig: (key, value) => stack.setConfig(key, value),
    removeConfig: (key) => stack.removeConfig(key),
    import: (state) => changed(stack.import(state)),
    taint: (...urns) => changed(stack.taint(...urns)),
    untaint: (...urns) => changed(stack.untaint(...urns)),
    protect: (...urns) => changed(stack.protect(...urns)),
    unprotect: (...urns) => changed(stack.unprotect(...urns)),
    deleteState: (urn, options) => changed(stack.deleteState(urn, options)),
    renameState: (urn, name) => changed(stack.renameState(urn, name)),
    moveState: (urns, destination) => changed(stack.moveState(urns, destination)),
    rename: (name) => changed(stack.rename(name)),
    backendUrl: stack.backendUrl,
    dispose: () => stack.dispose(),
  };
  const look = async (): Promise<void> => {
    if (!isStateSeen) await deployment();
    if (stack.kept !== undefined) leaks.files("what the engine keeps,", stack.kept, "anybody");
  };
  return { stack: watched, look };
}
