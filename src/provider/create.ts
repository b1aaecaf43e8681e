import { v4 as uuidV4, validate } from "uuid";
import { CloudInfraError } from "../diagnostics/error";
import { type Call, valuesOf } from "./call";
import { adopt, importedId } from "./creation/adopt";
import { carryOut, note } from "./creation/carry-out";
import { fitted, leftOverOf } from "./creation/left-over";
import { unfinished } from "./creation/partial";
import { type Pending, sentFields } from "./creation/pending";
import { type Creation, keyAfter, nextKey } from "./creation/post";
import type { Properties } from "./host";
import { removeObject } from "./removal";
import { creationBody } from "./values/body";
import { outputsOfNew } from "./values/outputs";
import { hiddenOf } from "./values/state";

/** What create answers. */
interface Created {
  readonly id: string;
  readonly outs: Properties;
}

/**
 * Creates an object (§4.1, §4.2): takes over the one that `import` names, or goes on with a creation that was cut off, if there
 * was one; or else journals, sends, waits and reads back.
 *
 * @throws PartialState where the service may be at work, so that the next `up`, on any machine, goes on
 * @throws CloudInfraError where nothing was made
 */
export async function create(call: Call, inputs: Properties): Promise<Created> {
  const taken = importedId(call, inputs);
  if (taken !== undefined) return adopt(call, inputs, taken);
  const left = await leftOverOf(call, inputs);
  const resumed = left && (await resume(call, inputs, left));
  if (resumed) return resumed;
  return make(call, inputs, keyAfter(left?.key, keyOf(inputs)));
}

/** @returns `undefined` where the creation failed, or what it made had to go: then another is made */
async function resume(call: Call, inputs: Properties, left: Pending): Promise<Created | undefined> {
  const end = await carryOut(call, inputs, left, true);
  if (end.kind === "made") {
    const outs = await fitted(call, end.object, left, inputs);
    return outs && created(call, inputs, left, end.object.id, outs);
  }
  if (end.kind === "failed" && end.object) await removeObject(call, end.object.id, sentFields(left).project);
  return undefined;
}

/** As often as another key is tried where the service keeps answering a key with a stored failure. */
const MOST_KEYS = 3;

async function make(call: Call, inputs: Properties, firstKey: string): Promise<Created> {
  const { journal } = call.session;
  const { __urn: urn = "" } = hiddenOf(inputs);
  const body = creationBody(call.kind.fields, inputs);
  let spent: CloudInfraError | undefined;
  for (let key = firstKey, tries = 0; tries < MOST_KEYS; key = nextKey(key), tries += 1) {
    const pending = { key, body, at: Date.now() };
    const other = await journal.begin({ urn, ...pending });
    if (other !== undefined) return join(call, inputs, other, body);
    const end = await carryOut(call, inputs, pending, false);
    if (end.kind === "made") {
      const outs = outputsOfNew(call, end.object, inputs, valuesOf(call, inputs));
      return created(call, inputs, pending, end.object.id, outs);
    }
    await journal.remove(urn, key);
    if (end.kind === "failed") throw end.object ? unfinished(call, end.error, inputs, pending) : end.error;
    spent = end.error;
  }
  throw spent ?? new Error("no key was tried");
}

/**
 * Another process, one that has outlived its killed CLI for instance, has begun to create the same resource since this one looked:
 * where it asks for the very same, its key brings the same object (§4.7).
 */
async function join(call: Call, inputs: Properties, other: Creation, body: string): Promise<Created> {
  if (other.body !== body) {
    throw new CloudInfraError(
      "conflict",
      "another process is creating it at this moment, with other arguments",
      {
        hint: "run `pulumi up` again: it goes on with what that one has begun, and makes nothing twice",
      },
    );
  }
  return (await resume(call, inputs, other)) ?? make(call, inputs, nextKey(other.key));
}

async function created(
  call: Call,
  inputs: Properties,
  pending: Pending,
  id: string,
  outs: Properties,
): Promise<Created> {
  await note(call, inputs, pending, { id });
  call.session.memory.made(hiddenOf(inputs).__urn, id);
  return { id, outs };
}

/** The idempotency key that the engine saved with the inputs before it asked for the creation (§4.7). */
function keyOf(inputs: Properties): string {
  const key = hiddenOf(inputs).__key;
  return key !== undefined && validate(key) ? key : uuidV4();
}
