import { v4 as uuidV4, validate } from "uuid";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import type { Entry } from "../journal/entry";
import { type Call, valuesOf } from "./call";
import { adopt, importedId } from "./creation/adopt";
import { carryOut } from "./creation/carry-out";
import { completed, fitted } from "./creation/completion";
import { discard, leftOverOf, retryOf, settled, type Unfinished } from "./creation/left-over";
import { note } from "./creation/note";
import { failedAgain, unfinished } from "./creation/partial";
import type { Pending } from "./creation/pending";
import { keyAfter, nextKey } from "./creation/post";
import type { Properties } from "./host";
import { identityOf } from "./identity";
import { projectKind } from "./kind";
import { becomesLive } from "./live";
import { creationBody } from "./values/body";
import { hiddenOf } from "./values/state";

/** What create answers. */
interface Created {
  readonly id: string;
  readonly outs: Properties;
}

/**
 * Creates an object (§4.1, §4.2): adopts the one that `import` names, or resumes an unfinished creation; otherwise, writes a
 * journal entry, sends the request, waits, and reads the result back.
 *
 * @throws PartialState if the service may have created something: the next `up`, on any machine, resumes
 * @throws CloudInfraError if nothing was created
 */
export async function create(call: Call, inputs: Properties): Promise<Created> {
  requireOwnKey(call, inputs);
  const imported = await importedId(call, inputs);
  if (imported !== undefined) return adopt(call, inputs, imported);
  const left = await leftOverOf(call, inputs);
  if (left === undefined) return make(call, inputs, await unspentKey(call, inputs));
  const retry = await retryOf(call, inputs, left);
  const first = await resume(call, inputs, left);
  if (retry?.key !== undefined && first !== undefined) await call.session.journal.remove(retry.key);
  const resumed = first ?? (retry && (await resume(call, inputs, retry)));
  if (resumed !== undefined) return resumed;
  const last = retry ?? left;
  if (last.key !== undefined) await call.session.journal.remove(last.key);
  const key = keyAfter(last.key, keyOf(inputs));
  return make(call, inputs, key).catch((error: unknown) => {
    // Without a new state, the engine would keep the creation whose failure is known, and resume it again and again (C4).
    throw left.isInState && isCloudInfraError(error) ? failedAgain(call, error, inputs, key) : error;
  });
}

/** The check of another resource may have shown, after this one's, that the state holds the key and its object. */
function requireOwnKey({ session, kind }: Call, inputs: Properties): void {
  const { __key: key, __urn: urn } = hiddenOf(inputs);
  const holder = key === undefined ? undefined : session.memory.holderOf(key);
  if (holder === undefined || holder === urn) return;
  throw new CloudInfraError("conflict", `the ${kind.name} of an interrupted creation belongs to ${holder}`, {
    hint: "Nothing was changed. Run `pulumi up` again",
  });
}

/** @returns `undefined` if the creation failed or its object does not fit: another one is created then */
async function resume(call: Call, inputs: Properties, left: Unfinished): Promise<Created | undefined> {
  const end = await carryOut(call, inputs, left, true);
  requireOwnKey(call, inputs); // a check may have come since
  if (end.kind === "made") {
    const outs = await fitted(call, end.object, left, inputs);
    if (outs !== undefined) {
      const resumed = await created(call, inputs, left, end.object.id, outs, left.id !== undefined);
      await settled(call, left);
      return resumed;
    }
  } else if (end.kind === "failed" && end.object) await discard(call, inputs, end.object, left);
  await settled(call, left);
  return undefined;
}

/** How many keys are tried if the service keeps replaying a stored failure. */
const MAX_KEYS = 3;

async function make(call: Call, inputs: Properties, firstKey: string): Promise<Created> {
  const { journal, memory, settings } = call.session;
  const { __urn: urn = "", __secrets: secrets, __autonamed: isAutonamed } = hiddenOf(inputs);
  const body = creationBody(call.kind.fields, inputs);
  const { key: replaces, displaces } = memory.of(urn);
  const lineage = { resource: keyOf(inputs, firstKey), replaces, projectKey: projectKey(call, inputs) };
  if (displaces !== undefined) await journal.move(displaces.purpose, { urn: displaces.to });
  let spent: CloudInfraError | undefined;
  for (let key = firstKey, tries = 0; tries < MAX_KEYS; key = nextKey(key), tries += 1) {
    const pending = { key, body, at: Date.now(), provider: settings.provider, secrets, isAutonamed };
    memory.claim(key, urn);
    const other = await journal.begin({ urn, ...lineage, ...pending });
    if (other !== undefined) return join(call, inputs, other, body);
    const end = await carryOut(call, inputs, pending, false);
    if (end.kind === "made") {
      const hidden = end.isEcho ? { __echoed: true } : {};
      const outs = await completed(call, end.object, valuesOf(call, inputs), inputs, pending, hidden);
      return created(call, inputs, pending, end.object.id, outs);
    }
    if (end.kind === "failed" && end.object)
      throw unfinished(call, end.error, inputs, { ...pending, failed: true });
    await journal.remove(key);
    await settled(call, pending);
    if (end.kind === "failed") throw end.error;
    spent = end.error;
  }
  throw spent ?? new Error("no key was tried");
}

/**
 * Joins a creation that another process has begun since this one read the journal: a process that outlived its killed CLI, for
 * example. If both send the same request, the key leads to the same object (§4.7).
 */
async function join(call: Call, inputs: Properties, other: Entry, body: string): Promise<Created> {
  if (other.body !== body) {
    throw new CloudInfraError("conflict", "another process is creating the resource, with other arguments", {
      hint: "Run `pulumi up` again: it resumes that creation, and nothing is created twice",
    });
  }
  const resumed = await resume(call, inputs, { ...other, isInState: false });
  return resumed ?? make(call, inputs, nextKey(other.key));
}

async function created(
  call: Call,
  inputs: Properties,
  pending: Pending,
  id: string,
  outs: Properties,
  isAdopted = false,
): Promise<Created> {
  await becomesLive(call, inputs, id, { isAdopted });
  await note(call, pending, { id });
  return { id, outs };
}

/** Key of this stack's resource for the project of an instance. */
function projectKey({ session }: Call, { project }: Properties): string | undefined {
  if (typeof project !== "string") return undefined;
  return session.memory.liveAs(identityOf({ kind: projectKind, session }, project))?.key;
}

/**
 * A key whose object was deleted in this run would bring that object's creation back, and one that has failed would fail again: an error
 * hook makes the engine repeat a call with the same inputs.
 */
async function unspentKey({ session }: Call, inputs: Properties): Promise<string> {
  let key = keyOf(inputs);
  while (await session.journal.run.has({ settled: key })) key = nextKey(key);
  return key;
}

/** The idempotency key that the engine saved with the inputs before it called create (§4.7). */
function keyOf(inputs: Properties, otherwise: string = uuidV4()): string {
  const key = hiddenOf(inputs).__key;
  return key !== undefined && validate(key) ? key : otherwise;
}
