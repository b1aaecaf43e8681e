import { createRequire } from "node:module";
import path from "node:path";

/**
 * The provider process resolves this package from the program's folder, at the next `up` and at the last `destroy`.
 * Better to hear that it can't here than from that process.
 *
 * @throws Error that says what to add where the program's folder does not resolve `pulumi-cloudinfra`.
 */
export function requireProviderFromProgram(resourceName: string): void {
  try {
    createRequire(path.join(process.cwd(), "index.js")).resolve("pulumi-cloudinfra/provider");
  } catch (cause) {
    throw new Error(
      `cloudinfra: "${resourceName}" can't be managed, because the program's folder (${process.cwd()}) does not resolve ` +
        "the package pulumi-cloudinfra. Add it to the dependencies of the package.json there, also where only a library " +
        "of yours uses it (npm install pulumi-cloudinfra), and keep it until the last resource is gone.",
      { cause },
    );
  }
}
