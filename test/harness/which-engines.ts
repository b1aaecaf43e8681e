import { pulumiOnPath } from "./pulumi-environment";

/** The part of the scenarios that runs with the CLI (`describeOnEngines`). */
const share = (): string => {
  if (process.env.CLOUDINFRA_TEST_CLI === "all") return "";
  return ": the first of each group with `npm run test:all`, and all with CLOUDINFRA_TEST_CLI=all";
};

/** Says on which engines the scenarios of this run are played; loudly where the real one is missing. */
export function sayWhichEngines(say: (line: string) => void = console.warn, searchPath?: string): void {
  const pulumi = pulumiOnPath(searchPath);
  say(
    pulumi
      ? `Scenarios run on two engines: the fake in test/engine, and ${pulumi}${share()}.`
      : "!!! No `pulumi` on PATH: scenarios run on the fake engine of test/engine ONLY, not on the real CLI. !!!",
  );
}
