import { createRequire } from "node:module";
import path from "node:path";

/**
 * Checks that the provider process can load this package. It resolves the package from the program's folder, from the next `up` to the last
 * `destroy`, and its own error would not say what to do.
 *
 * @throws Error that says what to add, if the program's folder doesn't resolve `pulumi-cloudinfra`
 */
export function requireProviderFromProgram(resourceName: string): void {
  try {
    createRequire(path.join(process.cwd(), "index.js")).resolve("pulumi-cloudinfra/provider");
  } catch (cause) {
    throw new Error(
      `cloudinfra: "${resourceName}" can't be managed, because the program's folder (${process.cwd()}) does not resolve ` +
        "the package pulumi-cloudinfra. Add it to the dependencies of the package.json there, also where only a library " +
        "of yours uses it (npm install pulumi-cloudinfra), and keep it until the last resource is deleted.",
      { cause },
    );
  }
}
