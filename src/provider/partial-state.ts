import { CloudInfraError, detailsOf } from "../diagnostics/error";
import { hintFor, longerTimeoutHint } from "../diagnostics/hints";
import { argumentsSent, type Pending, placeholderId } from "../model/pending";
import { type Desired, hiddenInputsOf, type Recorded, recorded } from "../model/state";
import { argumentsOf, type Context } from "./context";

/** A failure that leaves a partial state. The engine saves that state, and the next `up` resumes the work on any machine. */
export class PartialState extends CloudInfraError {
  constructor(
    readonly why: CloudInfraError,
    readonly id: string,
    readonly outs: Recorded,
    hint: string,
  ) {
    super(why.code, why.summary, { ...detailsOf(why), hint, cause: why });
  }
}

/** Returns the error with the state of an unfinished creation. The resource gets the object's id if it is known. */
export function partialCreation(
  context: Context,
  error: CloudInfraError,
  inputs: Desired,
  pending: Pending,
): PartialState {
  const known = error.resultId;
  const { failed } = pending;
  const hasOwnTimeout = inputs.timeouts?.create !== undefined;
  const outs = recorded({
    // The arguments that were sent, because the program may have changed since then.
    ...(argumentsSent(context.kind.fields, pending) ?? argumentsOf(context, inputs)),
    ...hiddenInputsOf(inputs),
    endpoint: context.session.client.endpoint,
    pending,
  });
  const hint = failed
    ? `The state records ${context.kind.name} ${known} as failed. Run \`pulumi up\` again to replace it`
    : `${firstFix(error, context.session.settings.provider)}Run \`pulumi up\` again on any machine to resume the creation. ${describeProgress(context, known, pending)}. ` +
      `The state records the unfinished creation, so nothing is created twice${TIMEOUT_CODES.has(error.code) ? `. ${longerTimeoutHint(hasOwnTimeout)}` : ""}${giveUpHint(error)}`;
  return new PartialState(error, known ?? placeholderId(pending), outs, hint);
}

/** Returns the error with the state of a retried creation that failed. The next `up` replaces it with a key that was never used. */
export function failedAgain(
  context: Context,
  error: CloudInfraError,
  inputs: Desired,
  key: string,
): CloudInfraError {
  if (error instanceof PartialState) return error;
  const { outs } = partialCreation(context, error, inputs, { key, failed: true });
  const hint = hintFor(error, [], context.session.settings.provider) ?? "Run `pulumi up` again";
  return new PartialState(error, placeholderId({ key }), outs, hint);
}

function describeProgress({ kind }: Context, id: string | undefined, { operation }: Pending): string {
  if (operation !== undefined) return `The service started operation ${operation.id}`;
  return id === undefined ? "The request may have succeeded" : `${kind.className} ${id} exists`;
}

/** Codes of rejections that prove nothing about an earlier attempt (E1). */
const REJECTED_NOW: ReadonlySet<string> = new Set(["refused", "conflict", "not_found", "unsupported"]);
/** Describes how to give up an unfinished creation. */
export const GIVE_UP =
  "run `npx pulumi-cloudinfra recover --forget <urn>`. If this command prints another command, also run the printed command";
const NOTHING_THERE = `. If the service keeps rejecting the request and has no such object, give up the creation: ${GIVE_UP}`;

/** Describes how to give up a creation if the service rejects the resent request. */
export const giveUpHint = ({ code }: CloudInfraError): string =>
  REJECTED_NOW.has(code) ? NOTHING_THERE : "";

const TIMEOUT_CODES: ReadonlySet<string> = new Set(["operation_timeout", "timeout"]);
const FIXABLE_CODES: ReadonlySet<string> = new Set([
  "unauthorized",
  "forbidden",
  "not_this_service",
  "bad_reply",
]);

/** Returns a hint about what to fix before the creation can be resumed, or an empty string. @param provider the explicit provider's name */
export function firstFix(error: CloudInfraError, provider?: string): string {
  const hint = FIXABLE_CODES.has(error.code) ? hintFor(error, [], provider) : undefined;
  return hint === undefined ? "" : `${hint}. `;
}
