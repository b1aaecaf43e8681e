import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import path from "node:path";
import { reportEngines } from "./harness/which-engines";

const root = path.join(__dirname, "..");

/** Programs and provider processes load the package as users do, from `dist`: built once before any test. */
export default function setup(): void {
  // What an older state of the sources left there would be in the package.
  rmSync(path.join(root, "dist"), { recursive: true, force: true });
  const tsc = path.join(root, "node_modules/typescript/bin/tsc");
  const project = path.join(root, "tsconfig.build.json");
  const built = spawnSync(process.execPath, [tsc, "-p", project], { cwd: root, stdio: "inherit" });
  if (built.status !== 0) throw new Error("the package does not build: see above");
  reportEngines();
}
