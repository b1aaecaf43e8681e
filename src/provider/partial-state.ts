import { CloudInfraError, detailsOf } from "../diagnostics/error";
import { hintFor, ifNeverEnds, longerTimeoutHint, RELEASE_OBJECT } from "../diagnostics/hints";
import { argumentsSent, type Pending, placeholderId } from "../model/pending";
import type { Kind } from "../model/resource-fields";
import { type Desired, hiddenInputsOf, type Recorded, recorded } from "../model/state";
import { argumentsOf, type Context } from "./context";

/** A failure with a partial state, which the engine saves. The next `up`, on any machine, resumes the work. */
export class PartialState extends CloudInfraError {
  constructor(
    readonly why: CloudInfraError,
    readonly id: string,
    readonly outs: Recorded,
    /** @default the hint for the error's code */
    hint: string | undefined,
  ) {
    super(why.code, why.summary, { ...detailsOf(why), hint, cause: why });
  }
}

/**
 * Returns the error with the state of an unfinished creation. If the id of the object is known, the resource gets this id. The object of a
 * resumed creation may not fit the program, so its resource keeps the placeholder id.
 */
export function partialCreation(
  context: Context,
  error: CloudInfraError,
  inputs: Desired,
  pending: Pending,
  { isResumed = false } = {},
) {
  const known = isResumed ? undefined : error.resultId;
  const { failed } = pending;
  const hasOwnTimeout = inputs.timeouts?.create !== undefined;
  const outs = recorded({
    // The state contains the arguments that were sent, because the program may have changed in the meantime.
    ...(argumentsSent(context.kind.fields, pending) ?? argumentsOf(context, inputs)),
    ...hiddenInputsOf(inputs),
    endpoint: context.session.client.endpoint,
    pending,
  });
  const afterFailure = `The state records ${context.kind.name} ${known} as failed. Run \`pulumi up\` again to replace it`;
  const resuming =
    `${firstFix(error, context.session.settings.provider)}Run \`pulumi up\` again on any machine to resume the creation. ${describeProgress(context, known, pending)}. ` +
    `The state records the unfinished creation, so nothing is created twice${TIMEOUT_CODES.has(error.code) ? `. ${longerTimeoutHint(hasOwnTimeout)}` : ""}` +
    `${neverEndsHint(error, known === undefined ? RELEASE_CREATION : RELEASE_OBJECT)}${giveUpHint(error, isResumed)}`;
  const isUnclear =
    (error.code === "operation_unknown" && error.hint !== undefined) ||
    (error.code === "no_result" && known === undefined);
  const unclear = isUnclear ? `${checkHint(context.kind)}. ${FORGET}` : undefined;
  const unresumable = error.code === "key_expired" ? error.hint : unclear;
  const hint = failed ? afterFailure : (unresumable ?? resuming);
  return new PartialState(error, known ?? placeholderId(pending), outs, hint);
}

/** Returns the error for a retried creation that failed. The next `up` then replaces the resource with a key that was never used. */
export function failedAgain(context: Context, error: CloudInfraError, inputs: Desired, key: string) {
  if (error instanceof PartialState) return error;
  const { outs } = partialCreation(context, error, inputs, { key, failed: true });
  const hint = hintFor(error, [], context.session.settings.provider) ?? "Run `pulumi up` again";
  return new PartialState(error, placeholderId({ key }), outs, hint);
}

function describeProgress({ kind }: Context, id: string | undefined, { operation }: Pending): string {
  if (operation !== undefined) return `The service started operation ${operation.id}`;
  return id === undefined ? "The request may have succeeded" : `${kind.className} ${id} exists`;
}

export const checkHint = ({ name }: Kind): string =>
  `Nothing was changed. Check the ${name} in the service. If it belongs to this resource, set the \`import\` option to its id`;

/** The codes of errors that prove nothing about an earlier attempt (E1, E2). */
const REJECTED = new Set<string>(["refused", "conflict", "not_found", "unsupported", "operation_unknown"]);
const GIVE_UP =
  "run `npx pulumi-cloudinfra recover --forget <urn>`. If this command prints another command, also run the printed command";
/** Instructions for giving up an unfinished creation, after its possible object was handled. */
export const FORGET = `Then ${GIVE_UP}. Finally, run \`pulumi up\` again`;

/** Instructions for an operation that never ends, if the id of its object is unknown. */
export const RELEASE_CREATION = `delete the object in the service if it exists. Then ${GIVE_UP}`;
export const IMPORT_OBJECT =
  "set the `import` option to the id of the object. Then run `pulumi state delete <urn>` and `pulumi up`";

/** Returns a hint for an operation that hasn't ended within the time limit, because it may never end. */
export const neverEndsHint = ({ code }: CloudInfraError, release: string): string =>
  code === "operation_timeout" ? ifNeverEnds(release) : "";

export function keepWaitingHint(error: CloudInfraError, hasOwnTimeout: boolean, release: string): string {
  const longer = error.code === "operation_timeout" ? `. ${longerTimeoutHint(hasOwnTimeout)}` : "";
  return `Run \`pulumi up\` again on any machine to keep waiting${longer}${neverEndsHint(error, release)}`;
}

const NOTHING_THERE = `. If the service keeps returning this error and has no such object, give up the creation: ${GIVE_UP}`;

/** Returns instructions for giving up a creation if the service rejects the resent request, or may have stored its failure (§4.7). */
export function giveUpHint(error: CloudInfraError, isResumed = true): string {
  if (isInvisible(error)) return `. If the project was deleted, give up the creation: ${GIVE_UP}`;
  const { code, status } = error;
  const mayBeStored = status === 500 || (isResumed && status !== undefined);
  return REJECTED.has(code) || mayBeStored ? NOTHING_THERE : "";
}

/** Reports whether the project of an object isn't visible. It may have been deleted, or the token may belong to another account. */
export const isInvisible = ({ code, status }: CloudInfraError): boolean =>
  code === "forbidden" && status === undefined;

const TIMEOUT_CODES: ReadonlySet<string> = new Set(["operation_timeout", "timeout"]);
const FIXABLE_CODES = new Set<string>(["unauthorized", "forbidden", "not_this_service", "bad_reply"]);

/** Returns a hint about fixing the cause of an error before the creation is resumed. @param provider the name of the explicit provider */
export function firstFix(error: CloudInfraError, provider?: string): string {
  const hint = FIXABLE_CODES.has(error.code) ? hintFor(error, [], provider) : undefined;
  return hint === undefined ? "" : `${hint}. `;
}
