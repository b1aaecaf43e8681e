import { cpSync, writeFileSync } from "node:fs";
import path from "node:path";
import { REPOSITORY } from "../harness/modules";
import { outside } from "./installed";

/**
 * Combines copies of these examples into one program (of the project `examples`), with an output for each, so that they
 * share one stack.
 */
export function together(examples: readonly string[]): string {
  const dir = outside();
  for (const example of examples) {
    const file = path.join("examples", example, "index.ts");
    cpSync(path.join(REPOSITORY, file), path.join(dir, example, "index.ts"));
  }
  const index = examples.map((example, number) => [
    `import * as program${number} from "./${example}";`,
    `exports["${example}"] = { ...program${number} };`,
  ]);
  writeFileSync(path.join(dir, "index.ts"), `declare const exports: object;\n${index.flat().join("\n")}\n`);
  writeFileSync(path.join(dir, "Pulumi.yaml"), "name: examples\nruntime: nodejs\n");
  writeFileSync(path.join(dir, "package.json"), '{ "main": "index.ts" }');
  return dir;
}
