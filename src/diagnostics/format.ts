import { STATUS_CODES } from "node:http";
import { inspect } from "node:util";
import { type CloudInfraError, type ErrorCode, isCloudInfraError } from "./error";
import { type FailedCall, hintFor, withArgumentsOf } from "./hints";
import { propertyPath } from "./problem";
import { cleanLine, oneLine, redact, type SecretForms, truncated } from "./redact";

export interface ErrorContext {
  /** The action that failed, such as `creating instance "web"`. The action isn't redacted, because Pulumi displays resource names. */
  action: string;
  /** Converts a field name of the API to a property name, such as public_ip to publicIp. @default the field name */
  propertyOf?: ((wireField: string) => string) | undefined;
  provider?: string | undefined;
  call?: FailedCall | undefined;
  /** The values to redact, such as tokens and secret inputs. @default none */
  secrets?: readonly string[] | SecretForms | undefined;
  /** The properties whose label keys may be secret. Messages about these properties don't contain label keys. @default none */
  secretProperties?: ReadonlySet<string> | undefined;
}

const MAX_LINE_CHARACTERS = 1_000;
const MAX_FAULTS = 20;
const MAX_CAUSES = 3;

/**
 * Formats an error as a multi-line message. The message consists of a headline, details, rejected properties, the request, a hint, and a
 * link to the docs. Any error other than a `CloudInfraError` is a bug, so its stack trace is included.
 */
export function formatError(error: unknown, context: ErrorContext): string {
  const secrets = context.secrets ?? [];
  if (!isCloudInfraError(error)) {
    const lines = redact(`${context.action} failed: ${inspect(error)}`, secrets).split("\n");
    return lines.map((line) => cleanLine(line, secrets)).join("\n");
  }
  const faults = readFaults(error, context);
  const result = resultOf(error);
  const headline = `${context.action} failed: ${result}`;
  const hint = hintFor(error, faults.properties, context.provider, context.call);
  const period = /[.?!:…]$/.test(hint ?? "") ? "" : ".";
  const reasons = causes(error, [headline, ...faults.lines].join("\n"));
  const below = [
    ...(error.lines ?? []),
    ...faults.lines.filter((line) => !reasons.some((reason) => reason.includes(line))),
    ...reasons.map((reason) => `cause: ${reason}`),
    requestLine(error),
  ].filter((line) => line !== undefined && line !== "");
  // Truncation comes last, because a truncated secret would not be recognized.
  const clean = (text: string | undefined) => truncated(cleanLine(text ?? "", secrets), MAX_LINE_CHARACTERS);
  const named = (text: string) => withArgumentsOf(context.provider, clean(text));
  const isAboutSettings = error.code === "config_invalid" || error.code === "config_missing"; // others may quote the service
  return [
    `${oneLine(context.action)} failed: ${isAboutSettings ? named(result) : clean(result)}`,
    ...below.map((line) => `  ${clean(line)}`),
    ...(hint ? [`  ${named(`hint: ${hint}${period}`)}`] : []),
    `  docs: pulumi-cloudinfra/docs/errors.md#${error.code}`,
  ].join("\n");
}

/** Describes the failure, for example `validation_failed (422)`. */
function resultOf({ code, summary, status = 0, problem, operation }: CloudInfraError): string {
  const isAboutRequest = operation === undefined || code === "operation_unknown" || code === "unauthorized";
  const usesSummary = HAS_SUMMARY.has(code) && isAboutRequest;
  if (usesSummary || status < 400) return summary;
  const name = problem?.code ?? problem?.title ?? STATUS_CODES[status];
  return name === undefined ? `(${status})` : `${name} (${status})`;
}

/** The error codes whose summary is more specific than the HTTP status. */
const HAS_SUMMARY: ReadonlySet<ErrorCode> = new Set([
  "unauthorized",
  "operation_unknown",
  "not_this_service",
  "bad_reply",
  "timeout",
  "not_applied",
  "aborted",
]);

function readFaults(
  error: CloudInfraError,
  { propertyOf = (field) => field, secrets = [], secretProperties }: ErrorContext,
) {
  const problem = error.problem;
  // The path is redacted before it is split, because a secret that contains a separator would otherwise not be recognized.
  const clean = (path: string | undefined) => path && redact(path, secrets);
  const faults = (problem?.errors ?? []).map((fault) => {
    const path = { pointer: clean(fault.pointer), field: clean(fault.field) };
    const named = propertyPath(path, propertyOf);
    const top = topOf(named);
    const property = top !== undefined && secretProperties?.has(top) ? top : named;
    const description = fault.detail ?? fault.code ?? problem?.detail ?? "rejected by the service";
    return { property, line: property === undefined ? description : `${property}: ${description}` };
  });
  const lines = faults.slice(0, MAX_FAULTS).map(({ line }) => line);
  if (faults.length > MAX_FAULTS) lines.push(`… and ${faults.length - MAX_FAULTS} more`);
  const general = problem?.detail ?? (problem?.code === undefined ? undefined : problem.title);
  if (lines.length === 0 && general !== undefined && !resultOf(error).includes(general)) lines.push(general);
  const properties = new Set(faults.flatMap(({ property }) => topOf(property) ?? []));
  return { lines, properties: [...properties] };
}

function topOf(path: string | undefined): string | undefined {
  return path?.split(/[.[]/, 1)[0];
}

/** Returns the messages of the causes that the text `shown` doesn't contain. */
function causes(error: CloudInfraError, shown: string): string[] {
  const found: string[] = [];
  // The summary of this error already contains the message of the network error.
  if (error.code === "unreachable") return found;
  for (let cause = error.cause; cause instanceof Error && found.length < MAX_CAUSES; cause = cause.cause) {
    const message = isCloudInfraError(cause) ? cause.summary : cause.message;
    if (message !== "" && ![shown, error.summary, ...found].some((text) => text.includes(message)))
      found.push(message);
  }
  return found;
}

function requestLine(error: CloudInfraError): string {
  const { method, path, traceId, attempts = 1, operation, resultId } = error;
  // The operation's id is removed first, because it may contain the id of the object.
  const summary = error.summary.replace(`operation ${operation?.id}`, "");
  const parts = [
    method && path ? `${method} ${path}` : undefined,
    traceId && `trace ${traceId}`,
    attempts > 1 ? `${attempts} attempts` : undefined,
    operation && !error.summary.includes(operation.id)
      ? `operation ${operation.id} (${operation.status})`
      : undefined,
    resultId && !summary.includes(resultId) ? `object ${resultId}` : undefined,
    `code ${error.code}`,
  ];
  return parts.filter((part) => part !== undefined && part !== "").join(" · ");
}

/** The maximum length of a line. Pulumi indents each line by four spaces, and many terminals have 80 columns. */
const COLUMNS = 76;

/** Matches text that must stay on one line: a command in backticks, a number or code with its label, or a word. */
const UNBROKEN = /(?:code|trace|operation|object) \S+|\d+ attempts|(?:`[^`]*`|[^ ])+/g;

/**
 * Wraps the long lines of a message at spaces. The first line isn't wrapped, because Pulumi also displays it as the status message of the
 * resource. Table rows, commands in backticks and long words aren't wrapped either.
 */
export function wrapLongLines(message: string): string {
  const [first = "", ...others] = message.split("\n");
  return [first, ...others.map(wrapped)].join("\n");
}

function wrapped(text: string): string {
  const isTableRow = /\S {2,}\S/.test(text);
  if (text.length <= COLUMNS || isTableRow) return text;
  const [indent = ""] = /^ */.exec(text) ?? [];
  const [first = "", ...words] = text.match(UNBROKEN) ?? [];
  const lines: string[] = [];
  let line = indent + first;
  for (const word of words) {
    if (line.length + 1 + word.length > COLUMNS) {
      lines.push(line);
      line = `${indent}  ${word}`;
    } else line += ` ${word}`;
  }
  return [...lines, line].join("\n");
}

export function quoteForShell(word: string): string {
  return /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
