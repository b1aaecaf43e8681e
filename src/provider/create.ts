import { v4 as uuidV4, validate } from "uuid";
import type { Accepted, ApiObject } from "../api/client";
import { CloudInfraError, isCloudInfraError, withDetails } from "../diagnostics/error";
import type { Operation } from "../operations/operation";
import { creationBody } from "./body";
import { type Call, finish } from "./call";
import type { Properties } from "./host";
import type { Kind } from "./kind";
import { outputsOf } from "./outputs";
import { seeAgain } from "./see-again";
import { hiddenOf } from "./state";
import { wordsAfter } from "./words";

/**
 * Creates an object (§4.1, §4.2): POST with the key from the state, wait, read back.
 *
 * @throws CloudInfraError after the service has accepted, one that names the operation and, where known, the object
 */
export async function create(call: Call, inputs: Properties): Promise<{ id: string; outs: Properties }> {
  const { client, sightings } = call.session;
  const body = creationBody(call.kind.fields, inputs);
  const accepted = await call.kind
    .create(client, body, keyOf(inputs), call)
    .finally(() => sightings.forget());
  const object = await created(call, accepted, inputs).finally(() => sightings.forget());
  const words = wordsAfter(call.kind.fields, inputs, object.fields);
  return {
    id: object.id,
    outs: outputsOf(call, object, { hidden: inputs, values: valuesOf(call, inputs), words, before: {} }),
  };
}

/** The idempotency key that the engine saved with the inputs before it asked for the creation (§4.7). */
function keyOf(inputs: Properties): string {
  const key = hiddenOf(inputs).__key;
  return key !== undefined && validate(key) ? key : uuidV4();
}

export function valuesOf({ kind }: Call, inputs: Properties): Properties {
  return Object.fromEntries(kind.fields.map(({ name }) => [name, inputs[name]]));
}

/** A project may come back at once or as an operation (§1 and §4.2 differ): either is taken. */
async function created(call: Call, accepted: Accepted, inputs: Properties): Promise<ApiObject> {
  if (accepted.kind === "object") return accepted.object;
  if (accepted.kind === "none") {
    throw new CloudInfraError(
      "bad_reply",
      "the service accepted the request, but named neither an operation nor an object",
      {
        hint: `look for the ${call.kind.name} at the service before the next \`pulumi up\`, which would make another`,
      },
    );
  }
  try {
    const operation = await finish(call, accepted.operation);
    return await readBack(call, operation, inputs);
  } catch (error) {
    throw isCloudInfraError(error) ? afterAcceptance(error, call.kind) : error;
  }
}

/** What the result's link may answer where the object can still be seen in the list. */
const elsewhere: ReadonlySet<string> = new Set(["not_found", "unsupported", "no_result"]);

/** Reads the result of a finished operation: by its link, or, where that is not offered (§4.8), from the list. */
async function readBack(call: Call, operation: Operation, inputs: Properties): Promise<ApiObject> {
  const { client, sightings } = call.session;
  const { id: operationId, status } = operation;
  const seen = { id: operationId, status, progress: operation.progress };
  const id = client.resultId(operation);
  if (id === undefined) {
    throw new CloudInfraError(
      "no_result",
      `operation ${operationId} is done, but names no ${call.kind.name} as its result`,
      {
        operation: seen,
        hint: `ask the service's operator about operation ${operationId}: the ${call.kind.name} may exist`,
      },
    );
  }
  try {
    const object = await client.readResult(operation, call);
    sightings.getWorks(call.kind);
    return object;
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    if (!elsewhere.has(error.code)) throw withDetails(error, { resultId: id, operation: seen });
  }
  const project = typeof inputs.project === "string" ? inputs.project : undefined;
  const object = await seeAgain(call, { kind: call.kind, id, project });
  if (object !== undefined) return object;
  throw new CloudInfraError(
    "no_result",
    `operation ${operationId} is done, but the list does not show its result, ${call.kind.name} ${id}`,
    { operation: seen, resultId: id },
  );
}

/** The error of a creation that the service had accepted, with what may be there now and what to do about it. */
function afterAcceptance(error: CloudInfraError, { name, article }: Kind): CloudInfraError {
  const { resultId, operation } = error;
  if (resultId !== undefined) {
    const hint = `${name} ${resultId} may be at the service and is not in the state: the next \`pulumi up\` makes another, so delete it there`;
    return withDetails(error, { hint });
  }
  if (error.code === "operation_failed") return error;
  const hint =
    `the service may still finish operation ${operation?.id ?? ""}, and the next \`pulumi up\` makes ${article} ${name} of its own: ` +
    `look there for what is left behind. To wait longer, give the resource a longer \`customTimeouts\`, or set \`cloudinfra:operationTimeout\``;
  return withDetails(error, { hint });
}
