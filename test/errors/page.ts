import { type ErrorCode, MEANINGS } from "../../src/diagnostics/error";
import { wrapLongLines } from "../../src/diagnostics/format";
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

${IN_A_PROGRAM}

${codes()
  .map((code) => sectionOf(code, all))
  .join("\n\n")}
`;
}

const IN_A_PROGRAM = `## In a program

Functions such as \`getInstances\` throw a \`CloudInfraError\` with the \`code\`, the service's problem document as \`problem\`, and the \`cause\`:

\`\`\`ts
import { getInstances, isCloudInfraError } from "pulumi-cloudinfra";

export const instances = getInstances({ labels: { team: "shop" } }).catch((error: unknown) => {
  if (isCloudInfraError(error) && error.code === "forbidden") return [];
  throw error;
});
\`\`\`

A program that uses Pulumi's Automation API finds the code of a failed resource in a line of its diagnostic. This one takes over what somebody
else has changed, and then applies its own change:

\`\`\`ts
const codes: string[] = [];
const up = stack.up({
  onEvent: ({ diagnosticEvent }) => {
    const line = /\\bcode (\\w+)$/m.exec(diagnosticEvent?.message ?? "");
    if (line) codes.push(String(line[1]));
  },
});
await up.catch(async (error: unknown) => {
  if (!codes.includes("revision_conflict")) throw error;
  await stack.refresh();
  await stack.up();
});
\`\`\``;

export function codes(): readonly ErrorCode[] {
  return Object.keys(MEANINGS) as ErrorCode[];
}

function sectionOf(code: ErrorCode, all: readonly Told[]): string {
  const examples = all
    .filter((one) => one.code === code)
    .map(({ when, words }) => `For ${when}:\n\n\`\`\`text\n${wrapLongLines(steady(words))}\n\`\`\``);
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
