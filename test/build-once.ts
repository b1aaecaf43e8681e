import { spawnSync } from "node:child_process";
import path from "node:path";

const root = path.join(__dirname, "..");

/** Programs and provider processes load the package as users do, from `dist`: built once before any test. */
export default function setup(): void {
  const tsc = path.join(root, "node_modules/typescript/bin/tsc");
  const built = spawnSync(process.execPath, [tsc, "-p", path.join(root, "tsconfig.build.json")], {
    cwd: root,
    stdio: "inherit",
  });
  // FIXME-before-landing: strict
  if (built.status !== 0) console.error("the build reported errors");
}
