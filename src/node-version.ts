const MINIMUM = [22, 19] as const;

/** Returns what is wrong with the version of Node.js, if it is too old: the HTTP client then fails with errors that name no cause. */
export function nodeProblem(version = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [leastMajor, leastMinor] = MINIMUM;
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return undefined;
  return `pulumi-cloudinfra needs Node.js ${MINIMUM.join(".")} or later, but \`node\` is ${version}. Install a later version, or put it first on the PATH.`;
}
