import { describe, expect, it } from "vitest";
import manifest from "../../package.json";
import { nodeProblem } from "../../src/package";

describe("the version of Node.js", () => {
  it.each(["22.19.0", "22.20.1", "24.0.0"])("%s is accepted", (version) => {
    expect(nodeProblem(version)).toBeUndefined();
  });

  it.each(["22.18.9", "20.20.2", "18.0.0"])("%s is refused in words that say what to install", (version) => {
    const needed = manifest.engines.node.replace(">=", "");
    expect(nodeProblem(version)).toBe(
      `pulumi-cloudinfra needs Node.js ${needed} or later, but \`node\` is ${version}. Install a later version, or put it first on the PATH.`,
    );
  });
});
