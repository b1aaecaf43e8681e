import { generateKeyPairSync } from "node:crypto";
import { v4 as uuidV4 } from "uuid";
import type { Accepted, ApiObject } from "../api/client";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import type { Behaviour } from "../emulator";
import { isSameJson } from "../model/changes";
import { instanceKind as kind, type WireFields } from "../model/kinds";
import { isTerminal } from "../polling/wait";
import type { Exchange, Exchanges, Finished, Lifecycle, Started } from "./lifecycle";
import { causeOf, type Finding, failing, limited, observedBehaviour, REFRESH_FIRST, seen } from "./points";
import {
  after,
  createdValues,
  creationReply,
  deletionReply,
  failures,
  type Lag,
  labelsAfter,
  lagFinding,
  operationFinding,
  PAUSES_MS,
  type Reads,
  type Shown,
  staleRevision,
  statusCode,
  timeOf,
  updateReply,
} from "./replies";

type Method = "POST" | "PUT" | "DELETE";

/** A service may reject a request without permission as if the object didn't exist. */
const PERMISSION_STATUSES: readonly number[] = [401, 403, 404];
const MAX_CREATIONS = 3;
/** Values that services normalize in different ways. */
const ODD_LABELS = { probe: "odd", case: "MiXed", space: " x ", number: "7" };
const PLAIN_LABELS = { probe: "plain" };

/**
 * Creates, changes and deletes one instance, and reports how the service behaves. The caller cleans up.
 *
 * @param arguments_ the arguments of the instance, with wire names. Without `project`, a project is created in `region`
 * @param examined what reading has shown
 * @param reexamine examines the service again while the instance exists
 * @returns the findings. The last one has the verdict `fails` if nothing could be created
 * @throws CloudInfraError if a request has no reply
 */
export function exercise(
  life: Lifecycle,
  exchanges: Exchanges,
  arguments_: WireFields,
  examined: readonly Finding[],
  reexamine: () => Promise<readonly Finding[]>,
): Promise<Finding[]> {
  return new Exercise(life, exchanges, arguments_, examined).run(reexamine);
}

interface Created extends Finished {
  readonly id: string;
  readonly lag: Lag;
}

const isVisible = (fields: WireFields | undefined): boolean => fields !== undefined;

class Exercise {
  private readonly findings: Finding[] = [];
  private sent: WireFields;
  private canGet: boolean;

  constructor(
    private readonly life: Lifecycle,
    private readonly exchanges: Exchanges,
    private readonly arguments_: WireFields,
    examined: readonly Finding[],
  ) {
    this.canGet = offersGet(examined);
    const { region: _ofProject, ...own } = arguments_;
    const labels = { probe: "true", other: "kept" };
    this.sent = { ...own, name: life.name, public_ip: "auto", ssh_keys: [newSshKey()], labels };
  }

  async run(reexamine: () => Promise<readonly Finding[]>): Promise<Finding[]> {
    const { findings } = this;
    if (!(await this.createProject())) return findings;
    const created = await this.createInstance();
    if (created === undefined) return findings;
    const { id, lag: creationLag } = created;
    await this.createDuplicate();
    const examined = await reexamine();
    findings.push(...examined);
    this.canGet = offersGet(examined);
    const object = await this.life.reread(id);
    if (object === undefined)
      throw new CloudInfraError("not_found", `the service shows no instance ${id}, which it has created`);
    const { normalized = [], lag: updateLag, id: lastId = id } = await this.update(object);
    findings.push(
      createdValues(object.fields, this.sent, normalized, this.canGet),
      lagFinding(creationLag, updateLag),
    );
    await this.delete(lastId, object.fields.status);
    if (created.ended) await this.readPurged(created.ended, "is purged soon after its end");
    findings.push(await this.failed());
    return findings;
  }

  private async createProject(): Promise<boolean> {
    const { name } = this.sent;
    const { region } = this.arguments_;
    if (this.life.projectId !== undefined) return true;
    const { result, exchange } = await this.attempt("POST", this.life.create("project", { name, region }));
    if (result === undefined) return this.reject(exchange, "project");
    const { id } = await this.life.finish(result);
    if (id === undefined) return this.reject(exchange, "project");
    this.sent = { ...this.sent, project: id };
    const projectPost = statusCode(exchange, [200, 201, 202]);
    this.findings.push(
      seen("projectCreation", String(exchange.reply.status), projectPost && { projectPost }),
    );
    return true;
  }

  /** Creates the instance, and tries again if its operation fails. */
  private async createInstance(): Promise<Created | undefined> {
    const { life, sent, findings } = this;
    let { key, result, exchange } = await this.firstCreation();
    for (let attempts = 1; result !== undefined; attempts++) {
      const from = this.exchanges.all.length;
      const early = await this.lag("", isVisible, () => this.shownByName());
      if (attempts === 1) await this.replay(key, exchange);
      const finished = await life.finish(result);
      const { id, ended } = finished;
      if (id !== undefined) {
        findings.push(creationReply(exchange));
        if (result.accepted.kind === "operation") {
          const { operation, at } = ended ?? {};
          findings.push(operationFinding(this.exchanges.all.slice(from), exchange));
          if (operation === undefined || at === undefined)
            findings.push(seen("finishedOperation", "Is purged when it ends", { operationKeptPolls: 0 }));
          else await this.readFinished({ operation, at });
        }
        return { ...finished, id, lag: await this.visibility(id, early) };
      }
      if (attempts === MAX_CREATIONS) break;
      key = uuidV4();
      ({ result, exchange } = await this.attempt("POST", life.create("instance", sent, { key })));
    }
    if (result !== undefined) findings.push(await this.failed());
    await this.reject(exchange, "instance");
    return undefined;
  }

  /**
   * Sends the first creation. The request before it is invalid, because services differ in whether the key of a rejected request can be used
   * again.
   */
  private async firstCreation(): Promise<{ key: string; result?: Started; exchange: Exchange }> {
    const { life, sent, findings } = this;
    const key = uuidV4();
    const invalid = { ...sent, flavor: "unknown-probe" };
    const before = await this.attempt("POST", life.create("instance", invalid, { key }));
    const { status } = before.exchange.reply;
    if (PERMISSION_STATUSES.includes(status)) return { key, exchange: before.exchange };
    const isRejected = before.result === undefined;
    findings.push(
      isRejected
        ? seen("invalidValues", `An unknown flavor is rejected (${status})`)
        : seen("invalidValues", `An unknown flavor is accepted at first (${status})`),
    );
    if (before.result !== undefined) await life.finish(before.result);
    const again = await this.attempt("POST", life.create("instance", sent, { key, isRepeat: true }));
    if (isRejected)
      findings.push(
        again.result === undefined
          ? seen("rejectedKey", "Can't be used for another request", { cachedReplies: "all" })
          : seen("rejectedKey", "Can be used again", { cachedReplies: "successes" }),
      );
    if (again.result !== undefined) return { key, ...again };
    const newKey = uuidV4();
    return { key: newKey, ...(await this.attempt("POST", life.create("instance", sent, { key: newKey }))) };
  }

  /** @param early the reads since the request. They may have ended before the operation */
  private async visibility(id: string, early: Reads): Promise<Lag> {
    const late = await this.lag(id, isVisible);
    const { operationMs = 0 } = observedBehaviour(this.findings);
    const isEarly = early.lists === 0 || timeOf(early.lists) < Number(operationMs);
    this.findings.push(
      isEarly
        ? seen("visibility", `Listed ${after(early.lists)}`, { instanceVisible: "at-once" })
        : seen("visibility", "Listed when the operation has ended", { instanceVisible: "when-done" }),
    );
    if (!isEarly) return late;
    // Only the list has shown the id for the first read at the instance's URL.
    return early.reads === early.lists ? { lists: early.lists, reads: 0 } : early;
  }

  /** Sends the creation again, and then another one with the same key. */
  private async replay(key: string, first: Exchange): Promise<void> {
    const { life, sent, findings } = this;
    const repeat = { key, isRepeat: true };
    const second = await this.attempt("POST", life.create("instance", sent, repeat));
    const { reply, json } = second.exchange;
    const isSame = json.id === first.json.id && reply.header("location") === first.reply.header("location");
    if (reply.status >= 300 || !isSame) {
      const risk = "If a reply is lost, a retry may create a second object. The package can't prevent that";
      findings.push(
        limited("replay", `The same key returned ${reply.status} with another result`, risk, {
          behaviour: { keyRetentionMs: 0 },
        }),
      );
      return;
    }
    findings.push(seen("replay", "The same request with the same key returned the same result"));
    const other = { ...sent, name: `${life.name}-other` };
    const { exchange } = await this.attempt("POST", life.create("instance", other, repeat));
    const keyReuseStatus = statusCode(exchange, [422, 409, 400]);
    const keyReuseCode = exchange.json.code;
    findings.push(
      exchange.reply.status < 300
        ? seen("keyReuse", "Another request with the key returned the first result")
        : seen("keyReuse", `Another request with the key was rejected (${causeOf(exchange, "code")})`, {
            ...(keyReuseStatus && { keyReuseStatus }),
            ...(typeof keyReuseCode === "string" && { keyReuseCode }),
          }),
    );
  }

  /** Reads the operation of the creation twice after its end. */
  private async readFinished(ended: NonNullable<Finished["ended"]>): Promise<void> {
    for (const operationKeptPolls of [1, 2] as const) {
      const times = operationKeptPolls === 1 ? "once" : "twice";
      if (
        await this.readPurged(ended, `is purged after its end has been read ${times}`, { operationKeptPolls })
      )
        return;
    }
    this.findings.push(seen("finishedOperation", "Can still be read"));
  }

  /** Whether an ended operation is purged. */
  private async readPurged(
    { operation, at }: NonNullable<Finished["ended"]>,
    observation: string,
    behaviour: Partial<Behaviour> = { operationKeptMs: Math.ceil(this.life.session.clock.now() - at) },
  ): Promise<boolean> {
    try {
      await this.life.session.client.operations.poll(operation, this.life.context(kind));
      return false;
    } catch (error) {
      if (!isCloudInfraError(error) || error.code !== "not_found") throw error;
      const at = this.findings.findIndex(({ point }) => point === "finishedOperation");
      const isKnown = at !== -1 && this.findings[at]?.behaviour !== undefined;
      if (isKnown) return true;
      const purgedStatus = error.status === 410 ? 410 : 404;
      const consequence = "The provider finds the result without it";
      const found = seen(
        "finishedOperation",
        `It ${observation} (${error.status})`,
        { ...behaviour, purgedStatus },
        consequence,
      );
      this.findings.splice(at === -1 ? this.findings.length : at, 1, found);
      return true;
    }
  }

  private async createDuplicate(): Promise<void> {
    const { result, exchange } = await this.attempt("POST", this.life.create("instance", this.sent));
    if (result !== undefined) await this.life.finish(result);
    const { status } = exchange.reply;
    const detail = exchange.reply.problem?.detail ?? "";
    const isGeneral = status === 409 && detail !== "" && !detail.includes(this.life.name);
    this.findings.push(
      result !== undefined
        ? seen("duplicateNames", "Are accepted", { uniqueNames: false })
        : seen("duplicateNames", `Are rejected (${causeOf(exchange, isGeneral ? "detail" : "code")})`, {
            uniqueNames: true,
            ...(isGeneral && { conflictDetail: detail }),
          }),
    );
  }

  /** Changes the labels and other fields. */
  private async update({ id, revision }: ApiObject): Promise<{
    readonly normalized?: readonly (readonly [sent: WireFields, shown: WireFields])[];
    readonly lag?: Lag;
    readonly id?: string;
  }> {
    const { findings } = this;
    if (revision === undefined) {
      const fix = "Set `cloudinfra:revisionField`, and run the probe again";
      findings.push(limited("update", "Not tried, because no revision was found", fix));
      return {};
    }
    const odd = await this.change(id, revision, { labels: ODD_LABELS });
    const isOddAccepted = odd.reply.status < 400;
    const first = isOddAccepted ? odd : await this.change(id, revision, { labels: PLAIN_LABELS });
    if (first.reply.status >= 400) {
      const consequence = "Changes fail: use `replaceOnChanges` or `ignoreChanges`";
      findings.push(limited("update", `Rejected (${causeOf(first)})`, consequence));
      return {};
    }
    findings.push(updateReply(first, isOddAccepted), labelsAfter(first.shown));
    const second = await this.change(
      id,
      first.revision,
      { labels: { probe: "second" } },
      { isRepeated: true },
    );
    const stale = await this.attempt("PUT", this.put(id, first.revision, { labels: { probe: "second" } }));
    findings.push(staleRevision(stale.exchange));
    const again = isOddAccepted ? ODD_LABELS : PLAIN_LABELS;
    const third = await this.change(id, second.revision, { labels: again });
    const isHash = third.revision !== undefined && third.revision === first.revision;
    const meaning = isHash ? "Equal values have the same revision" : "Each change has its own revision";
    findings.push(seen("revisionOf", meaning, { revisionOf: isHash ? "shown" : "changes" }));
    const normalized = first.shown && ([{ ...this.sent, labels: again }, first.shown] as const);
    const lastId = await this.changeFields(id, third.revision);
    return { ...(normalized && { normalized: [normalized] }), lag: first.lag, id: lastId };
  }

  private async failed(): Promise<Finding> {
    const left = (await this.life.listed()).map(({ fields }) => fields);
    return failures(this.exchanges.all, left);
  }

  /** Changes single fields, and reports which changes have no effect. @returns the id, which may follow the name */
  private async changeFields(id: string, revision: string | undefined): Promise<string> {
    const { life, findings } = this;
    const keys = await this.change(id, revision, { ssh_keys: [newSshKey(), newSshKey()] });
    const name = `${life.name}-renamed`;
    const renamed = await this.attempt("PUT", this.put(id, keys.revision ?? revision, { name }));
    await this.settled(renamed.result);
    let last: ApiObject | undefined;
    await this.lag(
      id,
      (fields) => fields?.name === name,
      async () => {
        const found = (await life.listed()).find(({ fields }) => fields.name === name);
        last = found ?? last;
        return { lists: found?.fields, reads: found?.fields };
      },
    );
    const lastId = last?.id ?? id;
    const count = Array.isArray(keys.shown?.ssh_keys) ? keys.shown.ssh_keys.length : 2;
    const problems = [
      keys.reply.status >= 400
        ? `ssh_keys: rejected (${keys.reply.status})`
        : count !== 2 && "ssh_keys: ignored",
      renamed.exchange.reply.status >= 400
        ? `name: rejected (${renamed.exchange.reply.status})`
        : last === undefined && "name: ignored",
    ].filter((text) => text !== false);
    findings.push(
      problems.length === 0
        ? seen("changedFields", "Names and SSH keys can be changed")
        : limited("changedFields", problems.join("; "), "Use `replaceOnChanges` for these properties"),
      lastId === id
        ? seen("renaming", "Keeps the id", { idsFollowNames: false })
        : seen("renaming", "Changes the id", { idsFollowNames: true }, "The provider follows the new id"),
    );
    return lastId;
  }

  private async delete(id: string, statusBefore: unknown): Promise<void> {
    const { life, findings } = this;
    const { result, exchange } = await this.attempt(
      "DELETE",
      life.session.client.instances.delete(id, life.context(kind)),
    );
    await this.settled(result);
    const reads = result && (await this.lag(id, (fields) => fields === undefined));
    findings.push(deletionReply(exchange, reads, statusBefore, this.canGet));
    if (result !== undefined) await this.reuseId(id);
  }

  /** Creates another instance if the service may reuse the id of a deleted one. */
  private async reuseId(id: string): Promise<void> {
    if (!/^\d+$/.test(id) && !id.startsWith(this.life.name)) return;
    await this.life.forgetInstance(id);
    const { result } = await this.attempt("POST", this.life.create("instance", this.sent));
    const next = result && (await this.life.finish(result)).id;
    if (next === undefined) return;
    const idReuse = next === id;
    this.findings.push(
      idReuse
        ? limited(
            "idReuse",
            "A new instance gets the id of a deleted one",
            `The service reuses ids: ${REFRESH_FIRST}`,
            {
              behaviour: { idReuse },
            },
          )
        : seen("idReuse", "A new instance gets a new id", { idReuse }),
    );
  }

  /** Changes the instance, and waits until the service shows the change. */
  private async change(
    id: string,
    revision: string | undefined,
    fields: WireFields,
    { isRepeated = false } = {},
  ): Promise<
    Exchange & {
      readonly lag: Lag;
      readonly shown?: WireFields | undefined;
      readonly revision?: string | undefined;
    }
  > {
    const { result, exchange } = await this.attempt("PUT", this.put(id, revision, fields));
    if (result === undefined) return { ...exchange, lag: { lists: 0, reads: 0 }, revision };
    if (isRepeated && exchange.reply.status === 202) {
      const busy = await this.attempt("PUT", this.put(id, revision, fields));
      await this.settled(busy.result);
      const isRefused = busy.exchange.reply.status === 409;
      const observation = `An update during another one is ${isRefused ? "rejected" : "answered with"} ${busy.exchange.reply.status}`;
      this.findings.push(
        seen("busyInstance", observation, { busyInstance: isRefused ? "refused" : "accepted" }),
      );
    }
    await this.settled(result);
    const [[name, wanted] = ["", ""]] = Object.entries(fields);
    const isShown = (shown: WireFields | undefined): boolean => hasChanged(shown?.[name], wanted);
    const lag = await this.lag(id, isShown);
    const now = await this.life.reread(id);
    return { ...exchange, lag, shown: now?.fields, revision: now?.revision };
  }

  private put(id: string, revision: string | undefined, fields: WireFields): Promise<Accepted> {
    const body = JSON.stringify({ ...this.sent, ...fields });
    return this.life.session.client.instances.update(id, body, revision ?? "", this.life.context(kind));
  }

  /** Waits for the operation of a change. A failed or purged operation is reported elsewhere. */
  private async settled(accepted: Accepted | undefined): Promise<void> {
    if (accepted?.kind === "operation" && !isTerminal(accepted.operation))
      await this.life.end(accepted.operation);
  }

  /** Reads the instance in lists and at its URL until both are as expected, for up to 30 s. */
  private async lag(
    id: string,
    isExpected: (fields: WireFields | undefined) => boolean,
    read: () => Promise<Shown> = () => this.shown(id),
  ): Promise<Reads> {
    const { clock } = this.life.session;
    const all: Shown[] = [];
    const first = { lists: Number.POSITIVE_INFINITY, reads: Number.POSITIVE_INFINITY };
    for (const [step, pause] of PAUSES_MS.entries()) {
      if (pause > 0) await clock.sleep(pause, this.life.context(kind).signal);
      const now = await read();
      all.push(now);
      if (isExpected(now.lists)) first.lists = Math.min(first.lists, step);
      if (isExpected(now.reads)) first.reads = Math.min(first.reads, step);
      if (Number.isFinite(Math.max(first.lists, first.reads))) break;
    }
    return { ...first, seen: all };
  }

  private async shownByName(): Promise<Shown> {
    const found = (await this.life.listed()).find(({ fields }) => isSameJson(fields.name, this.sent.name));
    return found === undefined ? { lists: undefined, reads: undefined } : this.shown(found.id);
  }

  /** Returns the instance in the list and at its URL. If the service has no GET of one object, the list counts for both. */
  private async shown(id: string): Promise<Shown> {
    const { instances } = this.life.session.client;
    const lists = (await this.life.listed()).find((one) => one.id === id)?.fields;
    if (!this.canGet) return { lists, reads: lists };
    try {
      return { lists, reads: (await instances.get(id, this.life.context(kind))).fields };
    } catch (error) {
      if (!isCloudInfraError(error) || !["not_found", "unsupported"].includes(error.code)) throw error;
      if (error.code === "unsupported") this.canGet = false;
      return { lists, reads: this.canGet ? undefined : lists };
    }
  }

  /** Reports that nothing can be created. */
  private async reject(exchange: Exchange, what: "project" | "instance"): Promise<false> {
    const { client } = this.life.session;
    const { projectId = "" } = this.life;
    const projects = await client.projects.list(this.life.context(kind));
    const isVisible = what === "project" || projects.some(({ id }) => id === projectId);
    const forbiddenStatus = statusCode(exchange, [403, 404, 401]);
    const lacksPermission = `The token can't create ${what}s${isVisible ? "" : ` in project ${projectId}, or the project doesn't exist`}`;
    const behaviour: Partial<Behaviour> = isVisible ? { readOnlyToken: true } : {};
    this.findings.push(
      forbiddenStatus === undefined
        ? failing(
            "creation",
            `No ${what} was created (${causeOf(exchange)})`,
            "Fix the cause, and run the probe again",
          )
        : failing("creation", `Rejected (${causeOf(exchange)})`, lacksPermission, {
            behaviour: { ...behaviour, forbiddenStatus },
          }),
    );
    return false;
  }

  /** Sends a request that the service may reject. */
  private async attempt<T>(method: Method, request: Promise<T>): Promise<{ result?: T; exchange: Exchange }> {
    try {
      const result = await request;
      return { result, exchange: this.exchanges.last(method) };
    } catch (error) {
      if (!isCloudInfraError(error) || error.status === undefined) throw error;
      return { exchange: this.exchanges.last(method) };
    }
  }
}

function offersGet(findings: readonly Finding[]): boolean {
  return findings.some(({ point, verdict }) => point === "singleObject" && verdict === "works");
}

/** Returns a valid public key, whose private key nobody has. */
function newSshKey(): string {
  const { x = "" } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  const field = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
  const blob = Buffer.concat([field(Buffer.from("ssh-ed25519")), field(Buffer.from(x, "base64url"))]);
  return `ssh-ed25519 ${blob.toString("base64")} probe`;
}

/** Whether a field shows a change, perhaps in another form. Labels have another value of `probe`, and lists another length. */
function hasChanged(shown: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) return Array.isArray(shown) && shown.length === wanted.length;
  return Object(shown).probe === Object(wanted).probe;
}
