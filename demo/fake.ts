import { fakeEngine } from "../test/engine";
import type { RunResult } from "../test/harness/engine";
import { childEnvironment, type Driver, type Setting, StepFailed } from "./driver";
import { liveRows, plainRows } from "./rows";

/** The stand-in for Pulumi's engine that the tests use: it shows what the package does where there is no CLI. */
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
    introduction: "the fake engine of this repository's tests. It is NOT Pulumi: no `pulumi` is used",
    whatToType: whatToType(endpoint, token),
    run: async (command) => {
      const planning = command === "preview";
      const rows = live ? liveRows(process.stdout, planning) : plainRows(process.stdout, planning);
      const result = await stack.run(command, { signal: interrupted, onEvent: (event) => rows.take(event) });
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

function whatToType(endpoint: string, token: string): string {
  const ask = `curl -H 'Authorization: Bearer ${token}'`;
  return [
    `${ask} ${endpoint}/projects`,
    `${ask} ${endpoint}/instances`,
    "# With `pulumi` on PATH, `npm start -- --keep` prints the commands to go on with this very stack.",
  ].join("\n");
}
