import { fakeEngine } from "../test/engine";
import type { RunResult } from "../test/harness/engine";
import { childEnvironment, type Driver, type Setting, StepFailed } from "./driver";
import { liveRows, plainRows } from "./rows";

/** Opens the fake engine of the tests, which runs the package on a machine without Pulumi's CLI. */
export async function fakeDriver(setting: Setting): Promise<Driver> {
  const { dir, endpoint, token, live, interrupted } = setting;
  const stack = await fakeEngine.open({
    dir,
    project: "quickstart",
    stack: "demo",
    config: { "cloudinfra:endpoint": endpoint, "cloudinfra:token": { secret: token } },
    env: childEnvironment(setting),
  });
  return {
    description: "the fake engine of this repository's tests. It is NOT Pulumi, and uses no `pulumi`",
    commandsToTry: commandsToTry(endpoint, token),
    run: async (command) => {
      const isPreview = command === "preview";
      const rows = live ? liveRows(process.stdout, isPreview) : plainRows(process.stdout, isPreview);
      const result = await stack.run(command, { signal: interrupted, onEvent: (event) => rows.show(event) });
      process.stdout.write(`${summary(result)}\n`);
      if (!result.ok) throw new StepFailed(`the fake engine's ${command} failed`);
    },
    close: () => stack.dispose(),
  };
}

function summary({ ok, changes, outputs, diagnostics }: RunResult): string {
  const problems = diagnostics
    .filter(({ ephemeral, severity }) => !ephemeral && severity !== "debug")
    .map(({ severity, message }) => `${severity}: ${message}`);
  const counts = Object.entries(changes).map(([op, count]) => `${count} ${op}`);
  const values = ok
    ? Object.entries(outputs).map(([name, value]) => `   ${name}: ${JSON.stringify(value)}`)
    : [];
  return ["", ...values, ...problems, `   resources: ${counts.join(", ") || "none"}`].join("\n");
}

function commandsToTry(endpoint: string, token: string): string {
  const curl = `curl -H 'Authorization: Bearer ${token}'`;
  return [
    `${curl} ${endpoint}/projects`,
    `${curl} ${endpoint}/instances`,
    "# With `pulumi` on the PATH, `npm start -- --keep` prints the commands to continue with this stack.",
  ].join("\n");
}
