import type { CloudInfraError, ErrorCode } from "./error";

const ENDPOINT = "the setting `cloudinfra:endpoint` (or CLOUDINFRA_ENDPOINT)";
const TOKEN = "the setting `cloudinfra:token` (or CLOUDINFRA_TOKEN)";

/**
 * What somebody who runs `pulumi` can do about an error.
 *
 * @param properties the program's names of the properties that the service complained about
 * @returns the error's own hint, else one for its code, else undefined
 */
export function hintFor(error: CloudInfraError, properties: readonly string[] = []): string | undefined {
  return error.hint ?? HINTS[error.code]?.(error, properties);
}

type Hint = (error: CloudInfraError, properties: readonly string[]) => string | undefined;

const HINTS: Partial<Record<ErrorCode, Hint>> = {
  unauthorized: () =>
    "give a valid token: `pulumi config set --secret cloudinfra:token …`, or CLOUDINFRA_TOKEN; " +
    "`pulumi destroy` and `pulumi refresh` use the one stored with the stack unless they get `--run-program`",
  forbidden: () => `the token is known but may not do this: ask for the permission, or change ${TOKEN}`,
  not_found: (error) =>
    aboutProject(error)
      ? `this token sees no such project: check the property \`project\`, ${TOKEN} and ${ENDPOINT}`
      : "it may have been deleted by somebody else: `pulumi refresh` brings the state up to date",
  conflict: () =>
    "something else is in the way, such as a change in progress or a name that is taken: look at what the service says, then run it again",
  revision_conflict: () =>
    "somebody else changed it in the meantime and nothing was overwritten: run `pulumi refresh`, look at the difference, then `pulumi up`",
  refused: refusal,
  rate_limited: () =>
    "the service limits how often it may be asked: lower `cloudinfra:maxRequestsPerSecond` or `cloudinfra:concurrency`, or run it again later",
  unavailable: (error) =>
    error.sent && error.method === "POST"
      ? "the service is failing and the request may have been carried out all the same: run `pulumi up` again once it is back"
      : "the service is failing: run it again once it is back",
  unreachable: (error) =>
    error.sent
      ? "the connection broke before the answer came: run it again; if it keeps happening, look at the network and at proxies"
      : `check ${ENDPOINT} and that this machine can reach it`,
  timeout: () =>
    "run it again; where it only needs more time, give the resource a longer `customTimeouts`, or set `cloudinfra:operationTimeout`",
  not_this_service: () => `something else answered: check ${ENDPOINT}`,
  bad_reply: () =>
    `the reply breaks the rules of the API: check ${ENDPOINT}; if it is right, report this to the service's operators`,
  unsupported: () => "the service does not offer this",
  operation_failed: () =>
    "see what the service says above, change the program if it is to blame, and run `pulumi up` again",
  operation_timeout: () =>
    "the service may still finish it: run `pulumi up` again; to wait longer, give the resource a longer `customTimeouts`, " +
    "or set `cloudinfra:operationTimeout`",
  operation_unknown: () =>
    `the service no longer knows this operation: run \`pulumi refresh\`; check that ${ENDPOINT} has not changed`,
  aborted: () => "it was interrupted: run it again",
};

function refusal(error: CloudInfraError, properties: readonly string[]): string | undefined {
  if (error.status === 413) return "the request is too large for the service: make the values shorter";
  if (error.method === "POST") {
    const what = properties.length > 0 ? properties.map((name) => `\`${name}\``).join(", ") : "the arguments";
    return `correct ${what} in the program and run \`pulumi up\` again`;
  }
  if (error.method !== "PUT") return undefined;
  const names = properties.length > 0 ? properties.map((name) => `"${name}"`).join(", ") : '"…"';
  return (
    `if this can't be changed in place, add the resource option \`replaceOnChanges: [${names}]\` to replace it, ` +
    `or \`ignoreChanges: [${names}]\` to leave it as it is`
  );
}

function aboutProject(error: CloudInfraError): boolean {
  const creates = error.method === "POST" && error.path?.endsWith("/instances") === true;
  return creates || /\/projects\/[^/]+$/.test(error.path ?? "") || /project/.test(error.problem?.code ?? "");
}
