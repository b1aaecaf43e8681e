import { pulumiOnPath } from "./pulumi-environment";

/** Describes which scenarios run with the CLI (`describeOnEngines`). */
const share = (): string => {
  if (process.env.CLOUDINFRA_TEST_CLI === "all") return "";
  return ": the first of each group with `npm run test:all`, and all with CLOUDINFRA_TEST_CLI=all";
};

/** Prints the engines on which scenarios run. If the real one is missing, the line stands out. */
export function reportEngines(print: (line: string) => void = console.warn, searchPath?: string): void {
  const pulumi = pulumiOnPath(searchPath);
  print(
    pulumi
      ? `Scenarios run on two engines: the fake in test/engine, and ${pulumi}${share()}.`
      : "!!! No `pulumi` on PATH: scenarios run on the fake engine of test/engine ONLY, not on the real CLI. !!!",
  );
}
