import { readFileSync } from "node:fs";
import { notesOf } from "./notes";

/** `npm run release:notes -- <tag>` prints the changelog's section for the tag, or the reason why the tag can't be released. */
const [tag = ""] = process.argv.slice(2);
try {
  const manifest = JSON.parse(readFileSync("package.json", "utf8"));
  process.stdout.write(notesOf(tag, manifest, readFileSync("CHANGELOG.md", "utf8")));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
