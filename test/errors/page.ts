import { type ErrorCode, MEANINGS } from "../../src/diagnostics/error";
import { wrapLongLines } from "../../src/diagnostics/format";
import { START } from "../provider/service";
import type { Provocation } from "./provocation";

/** The message of an error that a test caused. */
export interface SeenMessage extends Pick<Provocation, "code" | "when"> {
  readonly message: string;
}

/** Generates `docs/errors.md` with the meaning and the messages of each code. */
export function pageOf(seen: readonly SeenMessage[]): string {
  return `# Errors

Every error message has the same parts:

${exampleOf(seen, "refused", "a creation")}

The first line contains the attempted action and its result. The next lines list the reasons, one for each rejected property, followed by
the request, its trace id and the error code. The service's operators can use the trace id to identify the request. The hint suggests the
next step. The last line refers to the error code's section on this page, which is part of the installed package.

Error codes are stable across versions. Each code has a section on this page, whose anchor is the code. The messages on this page come from
automated tests, with placeholders for ids, addresses and other values that vary.

| code | meaning |
|---|---|
${codes()
  .map((code) => `| [${code}](#${code}) | ${MEANINGS[code]} |`)
  .join("\n")}

${IN_A_PROGRAM}

${codes()
  .map((code) => sectionOf(code, seen))
  .join("\n\n")}
`;
}

const IN_A_PROGRAM = `## In a program

Functions such as \`getInstances\` throw a \`CloudInfraError\`. It has the error code as \`code\`, the problem document of the reply as \`problem\`,
and the original error as \`cause\`. This program continues without instances if the token lacks the permission to list them:

\`\`\`ts
import { getInstances, isCloudInfraError } from "pulumi-cloudinfra";

export const instances = getInstances({ labels: { team: "shop" } }).catch((error: unknown) => {
  if (isCloudInfraError(error) && error.code === "forbidden") return [];
  throw error;
});
\`\`\`

With Pulumi's Automation API, the code of a failed resource is at the end of a line in its diagnostic. If another client changed an object,
this program refreshes the stack and runs the update again:

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

function sectionOf(code: ErrorCode, seen: readonly SeenMessage[]): string {
  const examples = seen
    .filter((one) => one.code === code)
    .map(({ when }) => `${when.charAt(0).toUpperCase()}${when.slice(1)}:\n\n${exampleOf(seen, code, when)}`);
  return [`## ${code}`, MEANINGS[code], ...examples].join("\n\n");
}

function exampleOf(seen: readonly SeenMessage[], code: ErrorCode, when: string): string {
  const { message = "" } = seen.find((one) => one.code === code && one.when === when) ?? {};
  return `\`\`\`text\n${wrapLongLines(withoutVariableParts(message))}\n\`\`\``;
}

/** Returns the date that is that many milliseconds after the start of 2026. */
function fixedDate(afterMs: number): string {
  return new Date(Date.UTC(2026) + afterMs).toISOString().replace(".000", "");
}

function withoutVariableParts(message: string): string {
  return message
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "https://api.example.com")
    .replaceAll(/127\.0\.0\.1:\d+/g, "192.0.2.1:443")
    .replaceAll(/\b(ins|prj|op)-[0-9a-f]{6,}/g, "$1-5a2e")
    .replaceAll(/\b20\d\d-\d\d-\d\dT[\d:]+Z/g, (date) => fixedDate(Date.parse(date) - START))
    .replaceAll(/\btr-\d+/g, "tr-41")
    .replaceAll(/\b\d+ attempts/g, "8 attempts");
}
