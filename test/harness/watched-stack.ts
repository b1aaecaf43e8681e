import type { Deployment, Engine, Stack, StackOptions } from "./engine";
import type { Leaks } from "./leaks";

/**
 * Lines of verbose logs in which Pulumi itself prints secrets in plaintext: the engine from `-v=9`, and the SDK at debug
 * level. They occur with every program and provider.
 */
const PULUMI_TRACES =
  /^.*\b(?:(?:Unm|M)arshaling property for RPC\[|(?:Register|Read)Resource(?:Outputs)? RPC finished: ).*$/gm;

export function withoutPulumisOwn(text: string): string {
  return text.replace(PULUMI_TRACES, "");
}

/** Enables all logs of Pulumi, Node and the packages of a program. */
export const MOST_VERBOSE: Readonly<Record<string, string>> = {
  ...{ PULUMI_OPTION_DEBUG: "true", PULUMI_OPTION_LOGFLOW: "true" },
  ...{ PULUMI_OPTION_LOGTOSTDERR: "true", PULUMI_OPTION_VERBOSE: "9" },
  ...{ NODE_DEBUG: "undici,http,http2,net,tls", DEBUG: "*" },
};

/** A stack whose output and state are searched for leaks. */
export interface WatchedStack {
  readonly stack: Stack;
  /** Searches the current state and the engine's files. */
  search(): Promise<void>;
}

/** Opens a stack. Its output at every severity and every exported state are searched for leaks. */
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
  let isStateSearched = false;

  const deployment = async (): Promise<Deployment> => {
    const state = await stack.deployment();
    leaks.state("the state", state);
    isStateSearched = true;
    return state;
  };
  const changed = async (change: Promise<void>): Promise<void> => {
    isStateSearched = false;
    await change;
  };
  const watched: Stack = {
    deployment,
    run: async (command, runOptions = {}) => {
      isStateSearched &&= command === "preview";
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
  const search = async (): Promise<void> => {
    if (!isStateSearched) await deployment();
    if (stack.kept !== undefined) leaks.files("what the engine keeps,", stack.kept, "anybody");
  };
  return { stack: watched, search };
}
