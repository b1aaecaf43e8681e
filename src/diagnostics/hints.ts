import type { CloudInfraError, ErrorCode } from "./error";

const ENDPOINT = "`cloudinfra:endpoint` (or CLOUDINFRA_ENDPOINT)";
const TOKEN = "`cloudinfra:token` (or CLOUDINFRA_TOKEN)";

/** Matches stack settings in messages: a setting with its variable, or a list of settings. Hosts, ids and quoted text don't match. */
const SETTINGS =
  /(?<![\w:/.'"@-])`?cloudinfra:(?!journalDir)([a-z][A-Za-z]*)(?![\w-])`?(?:( \(or CLOUDINFRA_\w+\))|(?:(?:, | or | and )`?cloudinfra:(?!journalDir)[a-z][A-Za-z]*(?![\w-])`?)*)/g;

/** Replaces stack settings in a message with the arguments of an explicit provider. Explicit providers don't use the stack's settings. */
export function withArgumentsOf(provider: string | undefined, text: string): string {
  if (provider === undefined) return text;
  let owner = ` of the provider "${provider}"`; // only once, because hints may name several arguments
  return text.replace(SETTINGS, (names: string, first: string, variable?: string) => {
    const named = (variable ? `the ${first}` : names.replace(/`?cloudinfra:(\w+)`?/g, "`$1`")) + owner;
    owner = "";
    return named;
  });
}

/** Added to hints that mention a setting, because the engine saves the settings of each `up` in the state. */
const STORED =
  "To use changed settings, add `--run-program` to `pulumi refresh` or `pulumi destroy`. By default, these commands use the settings of the last `pulumi up`";
const SET_TOKEN = "Set a valid token with `pulumi config set --secret cloudinfra:token`";
const LONGER = "To wait longer, increase `cloudinfra:operationTimeout`";

/** Returns a hint on how to increase the time limit of a creation or update. `customTimeouts` takes precedence over the setting. */
export const longerTimeoutHint = (hasOwnTimeout: boolean): string =>
  hasOwnTimeout
    ? "To wait longer, increase the timeout in the resource's `customTimeouts`"
    : "To wait longer, set `customTimeouts` on the resource, or increase `cloudinfra:operationTimeout`";

/** Returns a hint on how to increase the time limit of a deletion, which uses the limit in the state. */
export const longerDeletionHint = (hasOwnTimeout: boolean): string =>
  hasOwnTimeout
    ? "To wait longer, increase `customTimeouts.delete`. The new value takes effect after the next update of the resource"
    : LONGER;

export interface FailedCall {
  readonly verb?: "create" | "read" | "update" | "delete" | "list" | undefined;
  /** Whether the resource is only read, as with `get`. */
  readonly isLookedUp?: boolean | undefined;
  /** Whether the time limit of the call comes from the resource's `customTimeouts`. */
  readonly hasOwnTimeout?: boolean | undefined;
}

/**
 * Returns the hint for an error: the error's own hint, or the hint of the first matching case for its code.
 *
 * @param properties the names of the properties that the service rejected
 * @param provider the name of the explicit provider, if there is one
 */
export function hintFor(
  error: CloudInfraError,
  properties: readonly string[] = [],
  provider?: string,
  call: FailedCall = {},
): string | undefined {
  const cases = HINTS[error.code];
  const general =
    typeof cases === "string" ? cases : cases?.find(({ applies }) => applies?.(error, call) ?? true)?.hint;
  const hint = error.hint ?? (typeof general === "function" ? general(properties, provider) : general);
  // A refresh or a deletion uses changed settings only with `--run-program`.
  const usesStored = call.verb === "read" || call.verb === "delete";
  const namesSetting = /cloudinfra:|provider "/.test(`${error.summary} ${hint}`);
  return usesStored && namesSetting && hint !== undefined ? `${hint.replace(/\.$/, "")}. ${STORED}` : hint;
}

/** A situation in which an error code occurs, with its hint. */
export interface HintCase {
  /** The description of the situation in docs/errors.md. The last case applies to all other situations and may omit the description. */
  readonly when?: string;
  /** @default always */
  readonly applies?: (error: CloudInfraError, call: FailedCall) => boolean;
  readonly hint: string | ((properties: readonly string[], provider?: string) => string);
}

const changeInPlace = (introduction: (properties: readonly string[]) => string): HintCase => ({
  when: "a change in place",
  applies: ({ method }) => method === "PUT",
  hint: (properties) => {
    const names = properties.length > 0 ? properties.map((name) => `"${name}"`).join(", ") : '"…"';
    return (
      `${introduction(properties)} a resource option: \`replaceOnChanges: [${names}]\` to replace the resource, ` +
      `or \`ignoreChanges: [${names}]\` to keep the current value`
    );
  },
});

/** Returns the cases of a deletion. @param end the end of each hint */
const deletionCases = (end = ""): readonly HintCase[] =>
  [true, false].map((isOwn) => ({
    when: isOwn ? "a deletion with `customTimeouts`" : "a deletion",
    applies: (_error, { verb, hasOwnTimeout = false }) => verb === "delete" && hasOwnTimeout === isOwn,
    hint: `Run the command again: the service may have finished the deletion in the meantime. ${longerDeletionHint(isOwn)}${end}`,
  }));

/** Instructions for an operation that never ends, if the id of its object is known. */
export const RELEASE_OBJECT =
  "delete the object in the service if it exists. Then run `pulumi state delete <urn>`";

/** Returns the end of a hint about an operation that hasn't ended within the time limit, because it may never end. */
export const ifNeverEnds = (release: string): string => `. If the operation never ends, ${release}`;

/** The hint, or the list of cases, for each error code. Errors with other codes contain their own hint. */
export const HINTS: Partial<Record<ErrorCode, string | readonly HintCase[]>> = {
  input_invalid: "Correct the value, and run the command again",
  unauthorized: [
    {
      when: "a token in the stack's configuration",
      applies: ({ summary }) => /from the stack setting cloudinfra:token \(\d+\)$/.test(summary),
      hint: SET_TOKEN,
    },
    {
      when: "a token in an environment variable",
      applies: ({ summary }) => /from the environment variable CLOUDINFRA_TOKEN \(\d+\)$/.test(summary),
      hint: (_properties, provider) =>
        provider === undefined
          ? `${SET_TOKEN} or in CLOUDINFRA_TOKEN`
          : "Set CLOUDINFRA_TOKEN to a valid token",
    },
    {
      when: "a token from another source, such as a command",
      hint: "Make sure that this setting or argument provides a valid token",
    },
  ],
  forbidden: `Grant the missing permission to the token, or replace ${TOKEN} with a token that has the permission`,
  not_found: [
    {
      when: "the project of an instance",
      applies: aboutProject,
      hint: (_properties, provider) =>
        provider === undefined
          ? `Check the \`project\` property, ${TOKEN} and ${ENDPOINT}`
          : `Check the \`project\` property. The instance and its project must use the same provider ("${provider}")`,
    },
    {
      when: "a new project, or the list of projects",
      applies: ({ path = "" }) => path.endsWith("/projects"),
      hint: `Check ${ENDPOINT}: the API was not found at this address`,
    },
    {
      when: "a list of instances",
      applies: ({ path = "" }) => path.endsWith("/instances"),
      hint: `Check ${ENDPOINT}. If you list the instances of a project, also check the project id`,
    },
    {
      when: "a lookup of an object that doesn't exist",
      applies: (_error, { isLookedUp = false }) => isLookedUp,
      hint: "Correct the id, or remove the lookup from the program. Then run `pulumi up`",
    },
    // After a 404, the provider reads the object. This hint applies only if that read returns the object.
    {
      hint: "Grant the token permission to change the object, and run `pulumi up` again. The object still exists",
    },
  ],
  refused: [
    {
      when: "a request that is too large",
      applies: ({ status }) => status === 413,
      hint: "Reduce the size of the resource's arguments",
    },
    {
      when: "a creation",
      applies: ({ method }) => method === "POST",
      hint: (properties) => `Correct ${namesOf(properties)} in the program, and run \`pulumi up\` again`,
    },
    changeInPlace(
      (properties) =>
        `Correct ${namesOf(properties)} in the program. If the service can't change this property in place, add`,
    ),
    {
      when: "a deletion",
      applies: ({ method }) => method === "DELETE",
      hint: "Fix the reported problem. To keep the object but remove it from the stack, run `pulumi state delete <urn>`",
    },
    {
      when: "a list in a program",
      applies: (_error, { verb }) => verb === "list",
      hint: `If the call has a filter, correct the filter. Otherwise, check ${ENDPOINT}`,
    },
    {
      when: "a read",
      hint: `Check ${ENDPOINT}: the address may belong to another service`,
    },
  ],
  conflict: [
    {
      when: "a deletion",
      applies: ({ method }) => method === "DELETE",
      hint: "Delete any instances that the project still contains. If another change is in progress, wait for it to finish. Then run the command again",
    },
    {
      hint: "If the name is taken, choose a different one. If another change is in progress, wait for it to finish. Then run the command again",
    },
  ],
  revision_conflict:
    "Run `pulumi refresh`, and review the changes. Then run the command again. Nothing was overwritten",
  rate_limited:
    "Run the command again later. If the error persists, lower `cloudinfra:maxRequestsPerSecond` or `cloudinfra:concurrency`",
  unavailable: "Run the command again when the service has recovered",
  unreachable: [
    {
      when: "a lost connection",
      applies: ({ sent }) => sent,
      hint: "Run the command again. If the error persists, check the network and the proxies between this machine and the service",
    },
    {
      when: "a failed connection",
      hint: `Make sure that ${ENDPOINT} is correct and that this machine can reach it`,
    },
  ],
  timeout: [
    ...deletionCases(),
    {
      when: "a read",
      applies: (_error, { verb }) => verb === "read" || verb === "list",
      hint: `Run the command again. ${LONGER}`,
    },
    {
      when: "a resource with `customTimeouts`",
      applies: (_error, { hasOwnTimeout = false }) => hasOwnTimeout,
      hint: `Run \`pulumi up\` again. ${longerTimeoutHint(true)}`,
    },
    { hint: `Run \`pulumi up\` again. ${longerTimeoutHint(false)}` },
  ],
  not_this_service: `Check ${ENDPOINT} and any proxies in front of the service`,
  bad_reply: `Check ${ENDPOINT}. If the endpoint is correct, report the reply to the service's operators`,
  unsupported: [
    changeInPlace(() => "Add"),
    {
      hint: `Check ${ENDPOINT}: the API at this address doesn't support the request`,
    },
  ],
  operation_failed: "Fix the reported problem, and run the command again",
  operation_timeout: deletionCases(ifNeverEnds(RELEASE_OBJECT)),
  operation_unknown: `Run \`pulumi refresh\`. Make sure that ${ENDPOINT} hasn't changed since the last \`pulumi up\``,
};

function namesOf(properties: readonly string[]): string {
  return properties.length > 0 ? properties.map((name) => `\`${name}\``).join(", ") : "the arguments";
}

function aboutProject(error: CloudInfraError): boolean {
  const creates = error.method === "POST" && error.path?.endsWith("/instances") === true;
  return creates || /\/projects\/[^/]+$/.test(error.path ?? "") || /project/.test(error.problem?.code ?? "");
}
