import type { CloudInfraError, ErrorCode } from "./error";

const endpointOf = (provider: string | undefined): string =>
  provider === undefined
    ? "the setting `cloudinfra:endpoint` (or CLOUDINFRA_ENDPOINT)"
    : `the endpoint of the provider "${provider}"`;
const tokenOf = (provider: string | undefined): string =>
  provider === undefined
    ? "the setting `cloudinfra:token` (or CLOUDINFRA_TOKEN)"
    : `the token of the provider "${provider}"`;
/** The engine stores the settings with the stack at each `up`. */
const STORED =
  "`pulumi refresh` and `pulumi destroy` use the settings of the last `pulumi up` unless you give them `--run-program`";
const SET_TOKEN = "`pulumi config set --secret cloudinfra:token …`";
const LONGER = "To wait longer, set `cloudinfra:operationTimeout`";

/** How to give a creation or an update more time. The resource's own timeout takes precedence over the setting. */
export const longerTimeoutHint = (hasOwnTimeout: boolean): string =>
  hasOwnTimeout
    ? "To wait longer, raise the timeout in the resource's `customTimeouts`"
    : "To wait longer, give the resource a longer `customTimeouts`, or set `cloudinfra:operationTimeout`";

/** In which call an error came about. The host doesn't tell which command runs. */
export interface FailedCall {
  readonly verb?: "create" | "read" | "update" | "delete" | "list" | undefined;
  /** Whether the resource is only looked up, with `get`. */
  readonly isLookedUp?: boolean | undefined;
  /** Whether the resource's `customTimeouts` set how long the call may take. */
  readonly hasOwnTimeout?: boolean | undefined;
}

/**
 * Returns what somebody who runs `pulumi` can do about an error.
 *
 * @param properties the program's names of the properties that the service complained about
 * @param provider the name of the explicit provider, if there is one
 * @returns the error's own hint, else that of the first case of its code that applies, else undefined
 */
export function hintFor(
  error: CloudInfraError,
  properties: readonly string[] = [],
  provider?: string,
  occasion: FailedCall = {},
): string | undefined {
  const found = HINTS[error.code]?.find(({ applies }) => applies?.(error, occasion) ?? true);
  const hint = error.hint ?? found?.hint(properties, provider);
  // A changed setting reaches a refresh or a deletion only in this way.
  const isStored = occasion.verb === "read" || occasion.verb === "delete";
  const namesSetting = /cloudinfra:|provider "/.test(`${error.summary} ${hint}`);
  return isStored && hint !== undefined && namesSetting && !hint.includes(STORED)
    ? `${hint}. ${STORED}`
    : hint;
}

/** One way in which an error of some code comes about, and what to do then. */
export interface HintCase {
  /** In words, where the code alone does not say it. */
  readonly when?: string;
  /** @default always */
  readonly applies?: (error: CloudInfraError, occasion: FailedCall) => boolean;
  readonly hint: (properties: readonly string[], provider?: string) => string;
}

const CHANGE_IN_PLACE: HintCase = {
  when: "a change in place",
  applies: ({ method }) => method === "PUT",
  hint: (properties) => {
    const names = properties.length > 0 ? properties.map((name) => `"${name}"`).join(", ") : '"…"';
    return (
      `if this can't be changed in place, add the resource option \`replaceOnChanges: [${names}]\` to replace it, ` +
      `or \`ignoreChanges: [${names}]\` to leave it as it is`
    );
  },
};

/** A deletion takes its limits from the state, into which only the resource's update and `up` write. */
const OF_DELETIONS: readonly HintCase[] = [
  {
    when: "a deletion with `customTimeouts`",
    applies: (_error, { verb, hasOwnTimeout = false }) => verb === "delete" && hasOwnTimeout,
    hint: () =>
      "Run the command again: the service may finish the deletion in the meantime. " +
      "A longer `customTimeouts.delete` counts only after the resource's next update",
  },
  {
    when: "a deletion",
    applies: (_error, { verb }) => verb === "delete",
    hint: () => `Run the command again: the service may finish the deletion in the meantime. ${LONGER}`,
  },
];

/** Codes that are missing here are of errors that say themselves what to do. */
export const HINTS: Partial<Record<ErrorCode, readonly HintCase[]>> = {
  input_invalid: [{ hint: () => "correct what is named above, and run it again" }],
  unauthorized: [
    {
      when: "a token in the stack's settings",
      applies: ({ summary }) => summary.endsWith("from the stack's setting cloudinfra:token (401)"),
      hint: () => `give a valid token: ${SET_TOKEN}; ${STORED}`,
    },
    {
      when: "a token in a variable",
      applies: ({ summary }) => summary.endsWith("from the variable CLOUDINFRA_TOKEN (401)"),
      hint: (_properties, provider) =>
        provider === undefined
          ? `give a valid token: ${SET_TOKEN}, or CLOUDINFRA_TOKEN; ${STORED}`
          : "give a valid token: CLOUDINFRA_TOKEN",
    },
    {
      when: "a token from elsewhere, such as a command",
      hint: () => `renew the token where the message says that it came from; ${STORED}`,
    },
  ],
  forbidden: [
    {
      hint: (_properties, provider) =>
        `the token is known but may not do this: ask for the permission, or change ${tokenOf(provider)}`,
    },
  ],
  not_found: [
    {
      when: "the project of an instance",
      applies: aboutProject,
      hint: (_properties, provider) =>
        provider === undefined
          ? `this token sees no such project: check the property \`project\`, ${tokenOf(provider)} and ${endpointOf(provider)}`
          : `the provider "${provider}" sees no such project: an instance must have the provider of its project. Check \`project\` and the provider`,
    },
    {
      when: "a new project, or the list of projects",
      applies: ({ path = "" }) => path.endsWith("/projects"),
      hint: (_properties, provider) =>
        `Check ${endpointOf(provider)}: the service has nothing at this address`,
    },
    {
      when: "a list of instances",
      applies: ({ path = "" }) => path.endsWith("/instances"),
      hint: (_properties, provider) =>
        `Check ${endpointOf(provider)}. If you list the instances of one project, check its id, too`,
    },
    {
      when: "an object that is looked up",
      applies: (_error, { isLookedUp = false }) => isLookedUp,
      hint: () => "Correct the id, or remove the lookup from the program and run `pulumi up`",
    },
    {
      hint: () => "Run `pulumi refresh`: somebody else may have deleted it",
    },
  ],
  refused: [
    {
      when: "a request that is too large",
      applies: ({ status }) => status === 413,
      hint: () => "the request is too large for the service: make the values shorter",
    },
    {
      when: "a creation",
      applies: ({ method }) => method === "POST",
      hint: (properties) =>
        `correct ${namesOr(properties, "the arguments")} in the program and run \`pulumi up\` again`,
    },
    CHANGE_IN_PLACE,
    {
      when: "a deletion",
      applies: ({ method }) => method === "DELETE",
      hint: () =>
        "look at what the service says; to leave it there and only take it out of the stack, run `pulumi state delete`",
    },
    {
      when: "a list in a program",
      applies: (_error, { verb }) => verb === "list",
      hint: (_properties, provider) =>
        `Correct the filter, if you have given one. Otherwise, check ${endpointOf(provider)}`,
    },
    {
      when: "a question",
      hint: (_properties, provider) =>
        `check ${endpointOf(provider)}: the service does not take what this package asks`,
    },
  ],
  conflict: [
    {
      hint: () =>
        "something else is in the way, such as a change in progress or a name that is taken: look at what the service says, then run it again",
    },
  ],
  revision_conflict: [
    {
      hint: () =>
        "somebody else changed it in the meantime and nothing was overwritten: run `pulumi refresh`, look at the difference, then `pulumi up`",
    },
  ],
  rate_limited: [
    {
      hint: () =>
        "the service limits how often it may be asked: lower `cloudinfra:maxRequestsPerSecond` or `cloudinfra:concurrency`, or run it again later",
    },
  ],
  unavailable: [{ hint: () => "the service is failing: run it again once it is back" }],
  unreachable: [
    {
      when: "a connection that broke",
      applies: ({ sent }) => sent,
      hint: () =>
        "Run the command again. If this keeps happening, check the network and the proxies between this machine and the service",
    },
    {
      when: "no connection",
      hint: (_properties, provider) => `check ${endpointOf(provider)} and that this machine can reach it`,
    },
  ],
  timeout: [
    ...OF_DELETIONS,
    {
      when: "a read",
      applies: (_error, { verb }) => verb === "read" || verb === "list",
      hint: () => `Run the command again. ${LONGER}`,
    },
    {
      when: "a resource with `customTimeouts`",
      applies: (_error, { hasOwnTimeout = false }) => hasOwnTimeout,
      hint: () => `Run \`pulumi up\` again. ${longerTimeoutHint(true)}`,
    },
    { hint: () => `Run \`pulumi up\` again. ${longerTimeoutHint(false)}` },
  ],
  not_this_service: [
    { hint: (_properties, provider) => `something else answered: check ${endpointOf(provider)}` },
  ],
  bad_reply: [
    {
      hint: (_properties, provider) =>
        `the reply breaks the rules of the API: check ${endpointOf(provider)}; if it is right, report this to the service's operators`,
    },
  ],
  unsupported: [CHANGE_IN_PLACE, { hint: () => "the service does not offer this" }],
  operation_failed: [
    {
      hint: () =>
        "see what the service says above, change the program if it is to blame, and run `pulumi up` again",
    },
  ],
  operation_timeout: OF_DELETIONS,
  operation_unknown: [
    {
      hint: (_properties, provider) =>
        `the service no longer knows this operation: run \`pulumi refresh\`; check that ${endpointOf(provider)} has not changed`,
    },
  ],
};

function namesOr(properties: readonly string[], otherwise: string): string {
  return properties.length > 0 ? properties.map((name) => `\`${name}\``).join(", ") : otherwise;
}

function aboutProject(error: CloudInfraError): boolean {
  const creates = error.method === "POST" && error.path?.endsWith("/instances") === true;
  return creates || /\/projects\/[^/]+$/.test(error.path ?? "") || /project/.test(error.problem?.code ?? "");
}
