import { CloudInfraError, detailsOf } from "../../diagnostics/error";
import { hintFor, moreTime } from "../../diagnostics/hints";
import { type Call, valuesOf } from "../call";
import type { Properties } from "../host";
import { plain } from "../values/plain";
import { hiddenOf, hiddenOutputs } from "../values/state";
import { argumentsSent, type Pending, placeholderId } from "./pending";

/** A failure that leaves something behind: the engine saves the resource, and any machine can go on with it. */
export class PartialState extends CloudInfraError {
  constructor(
    readonly why: CloudInfraError,
    readonly id: string,
    readonly outs: Properties,
    hint: string,
  ) {
    super(why.code, why.summary, { ...detailsOf(why), hint, cause: why });
  }
}

/** The state of a creation that is not known to have ended; under the object's id, where that is known. */
export function unfinished(
  call: Call,
  error: CloudInfraError,
  inputs: Properties,
  pending: Pending,
): PartialState {
  const known = error.resultId;
  const { failed } = pending;
  const hasOwnTimeout = hiddenOf(inputs).__timeouts?.create !== undefined;
  const outs = plain({
    // What the service makes, which need not be what the program declares by now.
    ...(argumentsSent(call.kind.fields, pending) ?? valuesOf(call, inputs)),
    ...hiddenOutputs(inputs),
    __endpoint: call.session.client.endpoint,
    __pending: pending,
  });
  const hint = failed
    ? `${call.kind.name} ${known} was left behind, and is in the state as failed: run \`pulumi up\` again, which replaces it`
    : `${advice(error, call.session.settings.provider)}${whatIsThere(call, known, pending)}, and is kept in the state: run \`pulumi up\` again, on any machine. ` +
      `It resumes the creation, and nothing is created twice${OVERTIME.has(error.code) ? `. ${moreTime(hasOwnTimeout)}` : ""}${ifRejected(error)}`;
  return new PartialState(error, known ?? placeholderId(pending), outs, hint);
}

/** The state after a creation that failed again: the next `up` replaces it, with a key that was never used. */
export function failedAgain(
  call: Call,
  error: CloudInfraError,
  inputs: Properties,
  key: string,
): CloudInfraError {
  if (error instanceof PartialState) return error;
  const { outs } = unfinished(call, error, inputs, { key, failed: true });
  const hint = hintFor(error, [], call.session.settings.provider) ?? "Run `pulumi up` again";
  return new PartialState(error, placeholderId({ key }), outs, hint);
}

function whatIsThere({ kind }: Call, id: string | undefined, { operation }: Pending): string {
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
export const ifRejected = ({ code }: CloudInfraError): string =>
  REJECTED_NOW.has(code) ? NOTHING_THERE : "";

const OVERTIME: ReadonlySet<string> = new Set(["operation_timeout", "timeout"]);
const TO_BE_MENDED: ReadonlySet<string> = new Set([
  "unauthorized",
  "forbidden",
  "not_this_service",
  "bad_reply",
]);

/** What has to be put right before it can go on, if anything. @param provider name of the explicit provider */
export function advice(error: CloudInfraError, provider?: string): string {
  const hint = TO_BE_MENDED.has(error.code) ? hintFor(error, [], provider) : undefined;
  return hint === undefined ? "" : `${hint}. Then: `;
}
