import { execFileSync } from "node:child_process";
import path from "node:path";

const root = path.join(__dirname, "..");

/** Programs and provider processes load the package as users do, from `dist`: built once before any test. */
export default function setup(): void {
  execFileSync(process.execPath, [path.join(root, "node_modules/typescript/bin/tsc"), "-p", path.join(root, "tsconfig.build.json")], {
    cwd: root,
    stdio: "inherit",
  });
}
