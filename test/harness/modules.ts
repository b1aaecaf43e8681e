import { mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";

/** The repository's root: what a program resolves as `pulumi-cloudinfra`. */
export const REPOSITORY = path.join(__dirname, "../..");

/**
 * Makes a `node_modules` in `dir` that resolves `pulumi-cloudinfra` to this repository, and each of `packages` to the
 * repository's own copy, so that a program and the package share one `@pulumi/pulumi`.
 */
export function linkModules(dir: string, packages: readonly string[] = ["@pulumi/pulumi"]): void {
  link(REPOSITORY, path.join(dir, "node_modules/pulumi-cloudinfra"));
  linkPackages(dir, packages);
}

/** Makes a `node_modules` in `dir` that resolves each of `packages`, and no others, to the repository's own copy. */
export function linkPackages(dir: string, packages: readonly string[]): void {
  for (const name of packages) {
    link(path.join(REPOSITORY, "node_modules", name), path.join(dir, "node_modules", name));
  }
}

function link(target: string, at: string): void {
  mkdirSync(path.dirname(at), { recursive: true });
  symlinkSync(target, at, "junction");
}
