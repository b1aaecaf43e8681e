import { generateKeyPairSync } from "node:crypto";
import type { ApiObject } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import { isMap, type WireFields } from "../model/resource-fields";
import { formatDuration } from "../polling/clock";
import {
  after,
  momentOf,
  ProbeRun,
  type Reads,
  reportFailures,
  reportLag,
  reportValues,
  type Shown,
  timeOf,
  type Values,
} from "./changing-points";
import { createDuplicate, createProbeInstance, createProbeProject, isPurged } from "./creation";
import type { Lifecycle } from "./lifecycle";
import { causeOf, type Exchange, type Exchanges, statusCode } from "./reading";
import { REFRESH_FIRST } from "./reading-points";
import { addFindings, type Finding, parts } from "./report";

/** Label values that services normalize in different ways. */
const ODD_LABELS = { probe: "odd", case: "MiXed", space: " x ", number: "7" };
const PLAIN_LABELS = { probe: "plain" };

/**
 * Creates, changes and deletes one instance. The caller must clean up.
 *
 * @param arguments_ the arguments of the instance, with wire names. Without `project`, a project is created in `region`
 * @param reexamine examines the service again while the instance exists
 * @returns all findings. If nothing could be created, one finding has the verdict `fails`
 * @throws CloudInfraError if a request has no reply
 */
export async function exercise(
  life: Lifecycle,
  exchanges: Exchanges,
  arguments_: WireFields,
  examined: readonly Finding[],
  reexamine: () => Promise<readonly Finding[]>,
): Promise<Finding[]> {
  const { region, ...own } = arguments_;
  const labels = { probe: "true", other: "kept" };
  const sent = { ...own, name: life.name, public_ip: "auto", ssh_keys: [newSshKey()], labels };
  const run = new ProbeRun(life, exchanges, sent, offersGet(examined));
  const instance = (await createProbeProject(run, region)) ? await createProbeInstance(run) : undefined;
  if (instance === undefined) return addFindings(examined, run.findings);
  const { id, kept, objects } = instance;
  await createDuplicate(run);
  const reexamined = addFindings(examined, await reexamine());
  run.canGet = offersGet(reexamined);
  const created = await life.reread(id);
  if (created === undefined)
    throw new CloudInfraError("not_found", `the service created instance ${id}, but doesn't return it`);
  const changes = new Changes(run, id, created.revision);
  const first = await changes.update();
  reportValues(run, created.fields, first);
  reportLag(run, objects, first?.lag ?? objects);
  await deleteInstance(run, { ...created, id: changes.id });
  if (kept !== undefined) await isPurged(run, kept);
  await reportFailures(run);
  return addFindings(reexamined, run.findings);
}

function offersGet(findings: readonly Finding[]): boolean {
  return findings.some(({ point, verdict }) => point === "singleObject" && verdict === "works");
}

/** An update, and the instance after it, unless the service rejected the update. */
interface Change extends Values {
  readonly exchange: Exchange;
  readonly status: number;
  readonly lag?: Reads;
}

class Changes {
  constructor(
    private readonly run: ProbeRun,
    public id: string,
    private revision: string | undefined,
  ) {}

  /** Changes the labels and other fields. @returns the change of the labels */
  async update(): Promise<Change | undefined> {
    const { run } = this;
    if (this.revision === undefined) {
      const observation = "Not tried, because no revision was found";
      run.limited("update", observation, "Set `revisionField`, and run the probe again");
      return undefined;
    }
    const odd = await this.change({ labels: ODD_LABELS });
    const isOddAccepted = odd.status < 400;
    const labels = isOddAccepted ? ODD_LABELS : PLAIN_LABELS;
    const first = isOddAccepted ? odd : await this.change({ labels });
    reportUpdate(run, first.exchange, isOddAccepted);
    if (first.status >= 400) return first;
    if (isMap(first.shown?.labels) && "other" in first.shown.labels)
      run.limited("labels", "A label that an update omits stays", "Removing a label from the program fails");
    else run.works("labels", "An update replaces all labels");
    const { revision } = this;
    const fields = { labels: { probe: "second" } };
    const second = await this.change(fields, async () => {
      const { status } = (await this.put(revision, fields)).exchange.reply;
      const observation = "An update during another one is";
      if (status === 409)
        run.works("busyInstance", `${observation} rejected (${status})`, { busyInstance: "refused" });
      else run.works("busyInstance", `${observation} answered with ${status}`, { busyInstance: "accepted" });
    });
    reportStale(run, (await this.put(revision, fields)).exchange);
    const third = await this.change({ labels });
    if (second.status < 400 && third.status < 400) {
      if (this.revision !== undefined && this.revision === revision)
        run.works("revisionOf", "Equal values have the same revision", { revisionOf: "shown" });
      else run.works("revisionOf", "Each change has its own revision", { revisionOf: "changes" });
    }
    const keys = await this.change({ ssh_keys: [newSshKey(), newSshKey()] });
    const shownKeys = keys.shown?.ssh_keys;
    const areKeysShown = !Array.isArray(shownKeys) || shownKeys.length === 2;
    const renamed = await this.rename();
    reportFields(run, [
      failureOf("ssh_keys", keys.status, areKeysShown, first.lag?.reads),
      failureOf("name", renamed.status, renamed.isShown, first.lag?.lists),
    ]);
    return first;
  }

  private async rename(): Promise<{ status: number; isShown: boolean }> {
    const { run } = this;
    const name = `${run.life.name}-renamed`;
    const { status } = (await this.putCurrent({ name })).exchange.reply;
    let id: string | undefined;
    if (status < 400)
      await run.repeat(async () => {
        id = (await run.named(name))?.id;
        return id !== undefined;
      });
    if (id === undefined) return { status, isShown: false };
    if (id === this.id) run.works("renaming", "Keeps the id", { idsFollowNames: false });
    else run.works("renaming", "Changes the id", { idsFollowNames: true }, "The provider follows the new id");
    this.id = id;
    return { status, isShown: true };
  }

  /** Changes the instance, and waits until replies contain the change. `meanwhile` runs while an operation applies the change. */
  private async change(fields: WireFields, meanwhile?: () => Promise<void>): Promise<Change> {
    const { run, id } = this;
    const { result, exchange } = await this.putCurrent(fields, meanwhile);
    const { status } = exchange.reply;
    const wanted = { ...run.sent, ...fields };
    if (result === undefined) return { exchange, status, wanted };
    const [[name, value] = ["", ""]] = Object.entries(fields);
    const isChanged = (shown: WireFields | undefined): boolean => hasChanged(shown?.[name], value);
    const lag = await run.readUntil(isChanged, () => run.shown(id));
    const now = await run.life.reread(id);
    this.revision = now?.revision;
    return { exchange, status, wanted, lag, shown: now?.fields };
  }

  /** Sends an update. If the revision is outdated, for example because replies lag, waits for a newer revision and retries the update. */
  private async putCurrent(fields: WireFields, meanwhile?: () => Promise<void>) {
    let sent = await this.put(this.revision, fields, meanwhile);
    const isCurrent = (): boolean => sent.exchange.reply.status !== 412;
    if (isCurrent()) return sent;
    await this.run.repeat(async () => {
      const now = await this.run.life.reread(this.id);
      if (now?.revision === undefined || now.revision === this.revision) return false;
      this.revision = now.revision;
      sent = await this.put(this.revision, fields, meanwhile);
      return isCurrent();
    });
    return sent;
  }

  private async put(revision: string | undefined, fields: WireFields, meanwhile?: () => Promise<void>) {
    const { life, sent: all, exchanges } = this.run;
    const body = JSON.stringify({ ...all, ...fields });
    const { instances } = life.session.client;
    const request = instances.update(this.id, body, revision ?? "", life.context());
    const sent = await exchanges.attempt(request);
    if (sent.result !== undefined && sent.exchange.reply.status === 202) await meanwhile?.();
    await this.run.waitForEnd(sent.result);
    return sent;
  }
}

function reportUpdate(run: ProbeRun, first: Exchange, isOddAccepted: boolean) {
  const { status } = first.reply;
  if (status === 412) {
    const observation = `The service rejected each revision that it returned (${causeOf(first)})`;
    return run.limited("update", observation, "Updates fail until replies contain the current revision");
  }
  if (status >= 400) {
    const observation = `Rejected (${causeOf(first)})`;
    return run.limited("update", observation, "Changes fail: use `replaceOnChanges` or `ignoreChanges`");
  }
  const isSlim = status === 200 && !("flavor" in first.json);
  const observation = parts(
    String(status),
    isSlim && "a part of the instance",
    isBare(first) && "no operation",
    !isOddAccepted && "labels with capitals or spaces are rejected",
  );
  return run.works("update", observation, {
    putReply: statusCode(first, [200, 204, 202]),
    ...(status === 200 && { writeReply: isSlim ? "slim" : "full" }),
    acceptedReply: isBare(first) ? "bare" : undefined,
  });
}

function reportStale(run: ProbeRun, stale: Exchange) {
  const { status } = stale.reply;
  if (status === 412) return run.works("staleRevision", "An outdated If-Match is rejected (412)");
  const overwritten = "An update may overwrite a concurrent change by another client";
  if (status < 300)
    return run.limited("staleRevision", `An outdated If-Match is accepted (${status})`, overwritten);
  const failing = "If another client changes an instance at the same time, the update fails with this error";
  return run.limited("staleRevision", `An outdated If-Match returned ${causeOf(stale)}`, failing);
}

/** Returns the reason why a field didn't change. An outdated revision or a lagging reply proves nothing about the field. */
function failureOf(name: string, status: number, isShown: boolean, lag = 0): string | undefined {
  if (status === 412) return `${name}: not observed (outdated revision)`;
  if (status >= 400) return `${name}: rejected (${status})`;
  if (isShown) return undefined;
  return `${name}: ${lag === Number.POSITIVE_INFINITY ? "not observed (replies lag)" : "ignored"}`;
}

function reportFields(run: ProbeRun, results: readonly (string | undefined)[]) {
  const failures = results.filter((failure) => failure !== undefined);
  if (failures.length === 0) return run.works("changedFields", "Names and SSH keys can be changed");
  const consequence = failures.every((failure) => failure.includes("not observed"))
    ? "Whether these properties can be changed is unknown"
    : "Changes of these properties fail: list them in `replaceOnChanges` or `ignoreChanges`";
  run.limited("changedFields", failures.join("; "), consequence);
}

async function deleteInstance(run: ProbeRun, { id, fields: created }: ApiObject): Promise<void> {
  const { life } = run;
  const request = life.session.client.instances.delete(id, life.context());
  const { result, exchange } = await run.exchanges.attempt(request);
  if (result === undefined) return reportDeletion(run, exchange, created);
  await run.waitForEnd(result);
  const isGone = (fields: WireFields | undefined): boolean => fields === undefined;
  const reads = await run.readUntil(isGone, () => run.shown(id));
  reportDeletion(run, exchange, created, reads);
  // If the service may reuse ids, another instance is created to check whether it gets the same id.
  if (!/^\d+$/.test(id) && !id.startsWith(life.name)) return;
  await life.forgetInstance(id);
  const next = await run.create(run.sent);
  const nextId = next.result && (await life.finish(next.result)).id;
  if (nextId === undefined) return;
  if (nextId !== id) return run.works("idReuse", "A new instance gets a new id", { idReuse: false });
  const consequence = `The service reuses ids: ${REFRESH_FIRST}`;
  run.limited("idReuse", "A new instance gets the id of a deleted one", consequence, { idReuse: true });
}

/** @param reads undefined if the service rejected the deletion */
function reportDeletion(run: ProbeRun, exchange: Exchange, created: WireFields, reads?: Reads) {
  const deleteObject = statusCode(exchange, [204, 202, 200, 405]);
  const behaviour = { deleteObject, acceptedReply: isBare(exchange) ? "bare" : undefined } as const;
  if (reads === undefined) {
    const isOffered = ![404, 405, 501].includes(exchange.reply.status);
    const consequence = isOffered
      ? "`pulumi destroy` fails with this error"
      : "`pulumi destroy` fails: set `retainOnDelete`, and delete objects with the service's own tools";
    return run.limited("deletion", `Rejected (${causeOf(exchange)})`, consequence, behaviour);
  }
  const isLeft = (fields: WireFields | undefined): boolean =>
    fields !== undefined && fields.status !== created.status && fields.status !== "deleting";
  const last = Math.max(reads.lists, reads.reads);
  const reply = `${exchange.reply.status}${isBare(exchange) ? ", without an operation" : ""}`;
  const [left] = reads.seen.flatMap(({ lists, reads }) => [lists, reads].filter(isLeft));
  if (left === undefined) {
    if (Number.isFinite(last))
      return run.works("deletion", `${reply}; the instance disappears ${after(last)}`, behaviour);
    const remains = `the instance remains visible for more than ${formatDuration(timeOf(last))}`;
    const consequence = "`pulumi destroy` waits until the instance disappears, and fails if it doesn't";
    return run.limited("deletion", `${reply}; ${remains}`, consequence, behaviour);
  }
  const isIn = (place: keyof Shown): boolean => reads.seen.some((one) => isLeft(one[place]));
  const softDeleteIn =
    !run.canGet || (isIn("lists") && isIn("reads")) ? "both" : isIn("lists") ? "lists" : "reads";
  const places = softDeleteIn === "both" ? "lists and reads" : softDeleteIn;
  const end = Number.isFinite(last) ? `, and disappears ${after(last)}` : "";
  const softDelete = String(left.status);
  const observation = `${reply}; the instance remains visible in ${places} with the status ${softDelete}${end}`;
  const softDeleteMs = Number.isFinite(last) ? momentOf(last) : undefined;
  const switches = { ...behaviour, softDelete, softDeleteIn, softDeleteMs } as const;
  return run.works("deletion", observation, switches, "The provider treats it as deleted");
}

/** Reports whether a 202 reply contains neither an operation nor a `Location` header. */
function isBare({ reply, json }: Exchange): boolean {
  return reply.status === 202 && !("status" in json) && reply.header("location") === undefined;
}

/** Returns a valid public key whose private key is discarded. */
function newSshKey(): string {
  const { publicKey } = generateKeyPairSync("ed25519");
  const key = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const blob = Buffer.concat([Buffer.from("\0\0\0\x0bssh-ed25519\0\0\0\x20"), key]); // with the length of each part
  return `ssh-ed25519 ${blob.toString("base64")} probe`;
}

/** Reports whether a field contains the wanted change, even if the service normalizes values. */
function hasChanged(shown: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) return Array.isArray(shown) && shown.length === wanted.length;
  return Object(shown).probe === Object(wanted).probe;
}
