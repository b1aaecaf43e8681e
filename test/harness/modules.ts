import { mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";

/** The root of the repository, to which programs resolve `pulumi-cloudinfra`. */
export const REPOSITORY = path.join(__dirname, "../..");

/**
 * Creates a `node_modules` in `dir` with links to this repository and to its own copies of `packages`, so that a program
 * and the package share one `@pulumi/pulumi`.
 */
export function linkModules(dir: string, packages: readonly string[] = ["@pulumi/pulumi"]): void {
  link(REPOSITORY, path.join(dir, "node_modules/pulumi-cloudinfra"));
  linkPackages(dir, packages);
}

/** Creates a `node_modules` in `dir` with links to the repository's copies of `packages` only. */
export function linkPackages(dir: string, packages: readonly string[]): void {
  for (const name of packages) {
    link(path.join(REPOSITORY, "node_modules", name), path.join(dir, "node_modules", name));
  }
}

function link(target: string, at: string): void {
  mkdirSync(path.dirname(at), { recursive: true });
  symlinkSync(target, at, "junction");
}
