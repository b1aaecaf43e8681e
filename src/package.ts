// This module has no imports, because every program loads it.

const MINIMUM_NODE = [22, 19] as const;

/** Returns an error message if Node.js is too old, because the errors of the HTTP client would not reveal the cause. */
export function nodeProblem(version = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [leastMajor, leastMinor] = MINIMUM_NODE;
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return undefined;
  return `pulumi-cloudinfra needs Node.js ${MINIMUM_NODE.join(".")} or later, but \`node\` is ${version}. Install a later version, or put it first on the PATH.`;
}

/** The types of the resources in states, URNs and policies. */
export const typeTokens = {
  project: "pulumi-nodejs:dynamic/cloudinfra:Project",
  instance: "pulumi-nodejs:dynamic/cloudinfra:Instance",
} as const;

/** Returns the code that the engine stores with a resource. Never change this code, because old states contain it. */
export function providerText(kind: keyof typeof typeTokens): string {
  return `exports.handler=()=>require("pulumi-cloudinfra/provider").${kind}`;
}
