import { engines } from "../test/harness/engines";
import { withStack } from "../test/harness/scenario";
import { inClear, stateOf } from "../test/harness/state";
import { printTable } from "./table";

const program = `
  const project = new Project("shop", { region: "eu-1" });
  new Instance("web", {
    project: project.id, image: "ubuntu-24.04", flavor: "small", network: "default", publicIp: "auto",
    sshKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHZ0AAAAC3NzaC1lZDI1NTE5AAAAIHZ0AAAA me@laptop"],
    labels: { tier: "web", team: "shop" },
  }, { customTimeouts: { create: "20m" } });
`;

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Measures the size of an instance with every argument in the state, on each available engine. Goals: 100 bytes and 1.2 kB. */
export async function stateSize(): Promise<void> {
  for (const engine of await engines()) {
    await withStack(engine, { program }, async ({ stack }) => {
      const made = await stack.run("up");
      if (!made.ok) throw new Error(made.output);
      const { inputs, outputs } = stateOf(await stack.deployment(), "web");
      printTable(
        `an instance in the state (${engine.name}, secrets in plaintext)`,
        ["", "figure", "goal"],
        [
          ["__provider", `${bytes(inClear(inputs?.__provider))} B`, "≤ 100 B"],
          ["inputs", `${bytes(inputs)} B`, ""],
          ["outputs", `${bytes(outputs)} B`, ""],
          ["inputs and outputs", `${bytes(inputs) + bytes(outputs)} B`, "≤ 1200 B"],
        ],
      );
    });
  }
}
