import { STATUS_CODES } from "node:http";
import { inspect, stripVTControlCharacters } from "node:util";
import { type CloudInfraError, isCloudInfraError } from "./error";
import { type FailedCall, hintFor } from "./hints";
import type { ProblemError } from "./problem";
import { redact } from "./redact";

/** How an error is told to the person who ran `pulumi`. */
export interface ErrorContext {
  /** What was being done: `creating instance "web"`. */
  doing: string;
  /** From the service's field to the program's property: public_ip → publicIp. @default the field itself */
  propertyOf?: ((wireField: string) => string) | undefined;
  /** The name of the explicit provider. @default the default provider */
  provider?: string | undefined;
  /** In which call it came about. @default none that is known */
  occasion?: FailedCall | undefined;
  /** What must not be seen: the token, and secret inputs. @default none */
  secrets?: readonly string[] | undefined;
  /** Properties of which no more than the name is shown, as the keys of labels may be secret. @default none */
  secretProperties?: ReadonlySet<string> | undefined;
}

const MAX_LINE_CHARACTERS = 1_000;
const MAX_FAULTS = 20;
const MAX_CAUSES = 3;

/**
 * An error as text: what was done and how it ended, the error's own lines, a line for each property, the request with its
 * trace id, the stable code, and a hint.
 * Anything that is not a {@link CloudInfraError} is a bug and keeps its stack.
 */
export function formatError(error: unknown, wording: ErrorContext): string {
  const secrets = wording.secrets ?? [];
  if (!isCloudInfraError(error)) return redact(`${wording.doing} failed: ${inspect(error)}`, secrets);
  const faults = readFaults(error, wording);
  const headline = `${wording.doing} ${ending(error)}`;
  const hint = hintFor(error, faults.properties, wording.provider, wording.occasion);
  const below = [
    ...(error.lines ?? []),
    ...faults.lines,
    ...causes(error, [headline, ...faults.lines].join("\n")).map((cause) => `because: ${cause}`),
    requestLine(error),
    hint && `hint: ${hint}`,
  ].filter((line) => line !== undefined && line !== "");
  // Redacted before it is shortened: a secret that is cut in two would not be recognised.
  // What steers the terminal may stand in the middle of a secret, which has line breaks of its own.
  const clean = (text: string | undefined) =>
    shortened(redact(oneLine(redact(text ?? "", secrets)), secrets));
  return [clean(headline), ...below.map((line) => `  ${clean(line)}`)].join("\n");
}

/** How a request or an operation ended, short: `validation_failed (422)`. */
function label(error: Pick<CloudInfraError, "problem" | "status">): string {
  const { problem, status = problem?.status } = error;
  const name = problem?.code ?? problem?.title ?? (status === undefined ? undefined : STATUS_CODES[status]);
  return [name, status === undefined ? undefined : `(${status})`]
    .filter((part) => part !== undefined)
    .join(" ");
}

function ending(error: CloudInfraError): string {
  const isSaid =
    explainsItself(error) && (error.operation === undefined || error.code === "operation_unknown");
  const status = isSaid ? undefined : error.status;
  if (status !== undefined && status >= 400 && status < 500) return `was refused: ${label(error)}`;
  if (status !== undefined && status >= 500) return `failed: ${label(error)}`;
  return `failed: ${error.summary}`;
}

/** These were put into words where they were made; the status alone would say less. */
function explainsItself(error: CloudInfraError): boolean {
  return [
    "unauthorized",
    "operation_unknown",
    "not_this_service",
    "bad_reply",
    "timeout",
    "not_applied",
    "aborted",
  ].includes(error.code);
}

function readFaults(
  error: CloudInfraError,
  { propertyOf = (field) => field, secrets = [], secretProperties }: ErrorContext,
) {
  const problem = error.problem;
  // Before a path is taken apart: a secret in it, such as a label's key, would not be recognised afterwards.
  const clean = (path: string | undefined) => path && redact(path, secrets);
  const faults = (problem?.errors ?? []).map((fault) => {
    const path = { pointer: clean(fault.pointer), field: clean(fault.field) };
    const named = propertyPath(path, propertyOf);
    const top = topOf(named);
    const property = top !== undefined && secretProperties?.has(top) ? top : named;
    const words = fault.detail ?? fault.code ?? problem?.detail ?? "is not accepted";
    return { property, line: property === undefined ? words : `${property}: ${words}` };
  });
  const lines = faults.slice(0, MAX_FAULTS).map(({ line }) => line);
  if (faults.length > MAX_FAULTS) lines.push(`… and ${faults.length - MAX_FAULTS} more`);
  const general = problem?.detail ?? (problem?.code === undefined ? undefined : problem.title);
  if (lines.length === 0 && general !== undefined && !ending(error).includes(general)) lines.push(general);
  const properties = new Set(faults.flatMap(({ property }) => topOf(property) ?? []));
  return { lines, properties: [...properties] };
}

/** The property at the start of a path. */
function topOf(path: string | undefined): string | undefined {
  return path?.split(/[.[]/, 1)[0];
}

function causes(error: CloudInfraError, said: string): string[] {
  const found: string[] = [];
  // The summary has the words of what the network said, without the noise.
  if (error.code === "unreachable") return found;
  for (let cause = error.cause; cause instanceof Error && found.length < MAX_CAUSES; cause = cause.cause) {
    const words = isCloudInfraError(cause) ? cause.summary : cause.message;
    if (words !== "" && ![said, error.summary, ...found].some((text) => text.includes(words)))
      found.push(words);
  }
  return found;
}

function requestLine(error: CloudInfraError): string {
  const { method, path, traceId, attempts = 1, operation, resultId } = error;
  // Ids may be short: that of the object is no part of the operation's.
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

/** Text of the service must neither break the layout nor steer the terminal. */
function oneLine(text: string): string {
  // One class for the whole run: with a separate class for the whitespace around it, long runs of spaces would take quadratic time.
  return stripVTControlCharacters(text).replace(/[\s\p{Cc}\p{Bidi_C}]+/gu, (run) =>
    /[\p{Cc}\p{Bidi_C}\p{Zl}\p{Zp}]/u.test(run) ? " " : run,
  );
}

function shortened(text: string): string {
  return text.length > MAX_LINE_CHARACTERS ? `${text.slice(0, MAX_LINE_CHARACTERS)}…` : text;
}

/** What a line may take: Pulumi's CLI puts four blanks before it, and a hundred columns are what a pull request's comment shows. */
const COLUMNS = 96;

/** What stays on one line: a command between backticks, a number or code with the word that says what it is, and any other word. */
const UNBROKEN = /(?:code|trace|operation|object) \S+|\d+ attempts|(?:`[^`]*`|[^ ])+/g;

/**
 * A message with its long lines broken at blanks, and what follows a break moved in. The first one stays as it is: Pulumi shows it by
 * itself too, on the resource's row. So does what stands between backticks, for a command is to be copied, a word that is
 * longer than a line, such as an address, and a table's row.
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

/**
 * The program's path of the property that a fault is about: `/ssh_keys/0` becomes `sshKeys[0]`.
 *
 * @param propertyOf from the service's field name to the program's property name
 * @returns undefined where the fault names neither pointer nor field
 */
export function propertyPath(
  fault: ProblemError,
  propertyOf: (wireField: string) => string,
): string | undefined {
  const [first, ...rest] =
    fault.pointer === undefined ? fieldSegments(fault.field) : pointerSegments(fault.pointer);
  if (first === undefined) return undefined;
  return rest.reduce((path, segment) => path + accessor(segment), propertyOf(first));
}

function pointerSegments(pointer: string): string[] {
  const fromFragment = pointer.startsWith("#") ? decode(pointer.slice(1)) : pointer;
  return fromFragment
    .split("/")
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"))
    .filter((segment, index) => index > 0 || segment !== "");
}

function fieldSegments(field: string | undefined): string[] {
  return (field ?? "").split(/[.[\]]/).filter((segment) => segment !== "" && segment !== "$");
}

function accessor(segment: string): string {
  if (/^\d+$/.test(segment)) return `[${segment}]`;
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(segment) ? `.${segment}` : `[${JSON.stringify(segment)}]`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
