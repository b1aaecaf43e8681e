import { type ErrorCode, MEANINGS } from "../../src/diagnostics/codes";
import { laidOut } from "../../src/diagnostics/layout";
import type { Provocation } from "./provocation";

/** A failure that was brought about, and what was said. */
export interface Told extends Pick<Provocation, "code" | "when"> {
  readonly words: string;
}

/** `docs/errors.md`: each code with its meaning and with what a person sees of it. */
export function pageOf(all: readonly Told[]): string {
  return `# Errors

Whatever goes wrong is told in the same form: what was being done and how it ended, what the service said of each property, the request with
the service's trace id and a *code*, and what to do next. The codes stay the same from version to version. Each message below was seen in
our tests; this page is written by them.

| code | meaning |
|---|---|
${codes()
  .map((code) => `| [${code}](#${code}) | ${MEANINGS[code]} |`)
  .join("\n")}

${codes()
  .map((code) => sectionOf(code, all))
  .join("\n\n")}
`;
}

export function codes(): readonly ErrorCode[] {
  return Object.keys(MEANINGS) as ErrorCode[];
}

function sectionOf(code: ErrorCode, all: readonly Told[]): string {
  const examples = all
    .filter((one) => one.code === code)
    .map(({ when, words }) => `For ${when}:\n\n\`\`\`text\n${laidOut(steady(words))}\n\`\`\``);
  return [`## ${code}`, MEANINGS[code], ...examples].join("\n\n");
}

/** Without what differs from run to run. */
function steady(words: string): string {
  return words
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "https://api.example.com")
    .replaceAll(/127\.0\.0\.1:\d+/g, "192.0.2.1:443")
    .replaceAll(/\b(ins|prj|op)-[0-9a-f]{6,}/g, "$1-5a2e")
    .replaceAll(/\btr-\d+/g, "tr-41")
    .replaceAll(/\b\d+ attempts/g, "8 attempts");
}
