import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { copyQuickstart } from "../../demo/quickstart";

/** A newcomer's folder, outside the repository: that of the quickstart, with `source` for its program. Gone after the test. */
export function newcomersFolder(source: string, packageType: "commonjs" | "module" = "commonjs"): string {
  const dir = realpathSync(mkdtempSync(path.join(os.tmpdir(), "cloudinfra-readme-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }));
  copyQuickstart(dir);
  writeFileSync(path.join(dir, "index.ts"), source);
  const manifest = path.join(dir, "package.json");
  const settings: unknown = JSON.parse(readFileSync(manifest, "utf8"));
  writeFileSync(manifest, JSON.stringify(Object.assign({}, settings, { type: packageType })));
  return dir;
}
