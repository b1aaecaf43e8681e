import { CloudInfraError, detailsOf } from "../diagnostics/error";
import { hintFor, longerTimeoutHint } from "../diagnostics/hints";
import { argumentsSent, type Pending, placeholderId } from "../model/pending";
import { type Desired, hiddenInputsOf, type Recorded, recorded } from "../model/state";
import { argumentsOf, type Context } from "./context";

/** A failure that leaves something behind: the engine saves the resource, and any machine can go on with it. */
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

/** The state of a creation that is not known to have ended; under the object's id, where that is known. */
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
    // What the service makes, which need not be what the program declares by now.
    ...(argumentsSent(context.kind.fields, pending) ?? argumentsOf(context, inputs)),
    ...hiddenInputsOf(inputs),
    endpoint: context.session.client.endpoint,
    pending,
  });
  const hint = failed
    ? `${context.kind.name} ${known} was left behind, and is in the state as failed: run \`pulumi up\` again, which replaces it`
    : `${firstFix(error, context.session.settings.provider)}${describeProgress(context, known, pending)}, and is kept in the state: run \`pulumi up\` again, on any machine. ` +
      `It resumes the creation, and nothing is created twice${TIMEOUT_CODES.has(error.code) ? `. ${longerTimeoutHint(hasOwnTimeout)}` : ""}${giveUpHint(error)}`;
  return new PartialState(error, known ?? placeholderId(pending), outs, hint);
}

/** The state after a creation that failed again: the next `up` replaces it, with a key that was never used. */
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
  if (operation !== undefined) return `operation ${operation.id} was accepted`;
  return id === undefined ? "the request may have been carried out" : `${kind.name} ${id} is there`;
}

/** The service rejects the request now, which says nothing about an earlier attempt (E1). */
const REJECTED_NOW: ReadonlySet<string> = new Set(["refused", "conflict", "not_found", "unsupported"]);
/** How to give an unfinished creation up. */
export const GIVE_UP =
  "run `npx pulumi-cloudinfra recover --forget <urn>`, and the command that it prints, if any";
const NOTHING_THERE = `. If the service keeps rejecting it and shows no such object, give the creation up: ${GIVE_UP}`;

/** How to give up a creation whose resent request the service rejects. */
export const giveUpHint = ({ code }: CloudInfraError): string =>
  REJECTED_NOW.has(code) ? NOTHING_THERE : "";

const TIMEOUT_CODES: ReadonlySet<string> = new Set(["operation_timeout", "timeout"]);
const FIXABLE_CODES: ReadonlySet<string> = new Set([
  "unauthorized",
  "forbidden",
  "not_this_service",
  "bad_reply",
]);

/** What has to be put right before it can go on, if anything. @param provider name of the explicit provider */
export function firstFix(error: CloudInfraError, provider?: string): string {
  const hint = FIXABLE_CODES.has(error.code) ? hintFor(error, [], provider) : undefined;
  return hint === undefined ? "" : `${hint}. Then: `;
}
