import { generateKeyPairSync } from "node:crypto";
import { v4 as uuidV4 } from "uuid";
import type { Accepted, ApiObject } from "../api/client";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import type { WireFields } from "../model/resource-fields";
import { isTerminal, type Operation } from "../polling/wait";
import { type Change, changePoints, type Facts, type Update } from "./change-points";
import { creationPoints } from "./creation-points";
import { type Ended, type Finished, type Lifecycle, PERMISSION_STATUSES, type Started } from "./lifecycle";
import { type Exchange, type Exchanges, type Reads, readUntil, repeat, type Shown } from "./reading";
import { addFindings, type Finding, judge } from "./report";

const MAX_CREATIONS = 3;
/** Values that services normalize in different ways. */
const ODD_LABELS = { probe: "odd", case: "MiXed", space: " x ", number: "7" };
const PLAIN_LABELS = { probe: "plain" };

/** The points that only changes show, in the order of the report. */
export const changingPoints = { ...creationPoints, ...changePoints };

/**
 * Creates, changes and deletes one instance. The caller cleans up.
 *
 * @param exchanges the exchanges of the client of `life`
 * @param arguments_ the arguments of the instance, with wire names. Without `project`, a project is created in `region`
 * @param examined what reading has shown
 * @param reexamine examines the service again while the instance exists
 * @returns all findings. One has the verdict `fails` if nothing could be created
 * @throws CloudInfraError if a request has no reply
 */
export async function exercise(
  life: Lifecycle,
  exchanges: Exchanges,
  arguments_: WireFields,
  examined: readonly Finding[],
  reexamine: () => Promise<readonly Finding[]>,
): Promise<Finding[]> {
  const run = new Exercise(life, exchanges, arguments_, examined);
  await run.run(reexamine);
  return addFindings(run.examined, judge(changingPoints, run.facts));
}

type Options = Parameters<Lifecycle["create"]>[2];

class Exercise {
  readonly facts: Facts;
  /** The instance, and its last known revision. */
  private id = "";
  private revision: string | undefined;

  constructor(
    private readonly life: Lifecycle,
    private readonly exchanges: Exchanges,
    private readonly arguments_: WireFields,
    public examined: readonly Finding[],
  ) {
    const { region: _ofProject, ...own } = arguments_;
    const labels = { probe: "true", other: "kept" };
    const sent = { ...own, name: life.name, public_ip: "auto", ssh_keys: [newSshKey()], labels };
    this.facts = { name: life.name, sent, canGet: offersGet(examined), all: exchanges.all };
  }

  async run(reexamine: () => Promise<readonly Finding[]>): Promise<void> {
    const { facts, life } = this;
    if (!(await this.createProject())) return;
    const created = await this.createInstance();
    if (created?.id === undefined) return;
    const { id, ended } = created;
    await this.createDuplicate();
    this.examined = addFindings(this.examined, await reexamine());
    facts.canGet = offersGet(this.examined);
    const object = await life.reread(id);
    if (object === undefined)
      throw new CloudInfraError("not_found", `the service shows no instance ${id}, which it has created`);
    facts.created = object.fields;
    this.id = id;
    this.revision = object.revision;
    if (object.revision !== undefined) await this.update();
    await this.delete();
    if (ended !== undefined && facts.end?.when === "kept") {
      const status = await this.purgedStatus(ended);
      if (status !== undefined)
        facts.end = { when: "later", status, ms: Math.ceil(life.session.clock.now() - ended.at) };
    }
    await this.readFailed();
  }

  private async createProject(): Promise<boolean> {
    const { facts, life, arguments_ } = this;
    if (life.projectId !== undefined) return true;
    const fields = { name: facts.name, region: arguments_.region };
    const { result, exchange } = await this.create(fields, {}, "project");
    const { id } = result === undefined ? {} : await life.finish(result);
    if (id === undefined) return this.reject(exchange, "project");
    facts.sent = { ...facts.sent, project: id };
    facts.project = exchange;
    return true;
  }

  /** Creates the instance, and tries again if its operation fails. */
  private async createInstance(): Promise<Finished | undefined> {
    const { life, facts, exchanges } = this;
    let { key, result, exchange } = await this.firstCreation();
    for (let attempts = 1; result !== undefined; attempts++) {
      const from = exchanges.all.length;
      const { early, accepted } = await this.watch(result);
      if (attempts === 1) await this.replay(key, exchange);
      const finished = await life.finish({ ...result, accepted });
      const { id, ended } = finished;
      if (id !== undefined) {
        facts.creation = exchange;
        if (result.accepted.kind === "operation") {
          facts.polls = exchanges.all.slice(from);
          facts.end = ended === undefined ? { when: "at its end" } : await this.readEnded(ended);
        }
        facts.visibility = { early, late: await this.readUntil(id, isVisible) };
        return finished;
      }
      if (attempts === MAX_CREATIONS) break;
      key = uuidV4();
      ({ result, exchange } = await this.create(facts.sent, { key }));
    }
    if (result !== undefined) await this.readFailed();
    await this.reject(exchange, "instance");
    return undefined;
  }

  /** Looks for the new instance, and meanwhile polls its operation, which shows its progress only while it is running. */
  private async watch({ accepted }: Started): Promise<{ early: Reads; accepted: Accepted }> {
    let last = accepted;
    const read = async (): Promise<Shown> => {
      if (last.kind === "operation" && !isTerminal(last.operation)) {
        const { result: operation = last.operation } = await this.poll(last.operation);
        last = { ...last, operation };
      }
      return this.shown((await this.named(this.facts.name))?.id);
    };
    return { early: await readUntil(this.life.context(), read, isVisible), accepted: last };
  }

  /**
   * Sends the first creation. The request before it is invalid, because services differ in whether the key of a rejected request can be used
   * again.
   */
  private async firstCreation(): Promise<{ key: string; result?: Started; exchange: Exchange }> {
    const { facts, life } = this;
    const key = uuidV4();
    const { result, exchange } = await this.create({ ...facts.sent, flavor: "unknown-probe" }, { key });
    if (PERMISSION_STATUSES.includes(exchange.reply.status)) return { key, exchange };
    facts.invalid = { exchange, isAccepted: result !== undefined };
    if (result !== undefined) await life.finish(result);
    const again = await this.create(facts.sent, { key, isRepeat: true });
    facts.invalid.isKeyUsable = again.result !== undefined;
    if (again.result !== undefined) return { key, ...again };
    const newKey = uuidV4();
    return { key: newKey, ...(await this.create(facts.sent, { key: newKey })) };
  }

  /** Sends the creation again, and then another one with the same key. */
  private async replay(key: string, first: Exchange): Promise<void> {
    const { facts } = this;
    const repeat = { key, isRepeat: true };
    const { exchange: second } = await this.create(facts.sent, repeat);
    const location = ({ reply }: Exchange): string | undefined => reply.header("location");
    const isSame =
      second.reply.status < 300 && second.json.id === first.json.id && location(second) === location(first);
    facts.replay = { second, isSame };
    if (!isSame) return;
    const other = { ...facts.sent, name: `${facts.name}-other` };
    facts.replay.other = (await this.create(other, repeat)).exchange;
  }

  /** Reads the operation of the creation twice after its end. */
  private async readEnded(ended: Ended): Promise<NonNullable<Facts["end"]>> {
    for (const reads of [1, 2] as const) {
      const status = await this.purgedStatus(ended);
      if (status !== undefined) return { when: "read", reads, status };
    }
    return { when: "kept" };
  }

  /** Returns the status of the reply if an ended operation is purged. */
  private async purgedStatus({ operation }: Ended): Promise<number | undefined> {
    const { error } = await this.poll(operation);
    if (error !== undefined && error.code !== "not_found") throw error;
    return error?.status;
  }

  private poll(operation: Operation) {
    const { operations } = this.life.session.client;
    return this.exchanges.attempt("GET", operations.poll(operation, this.life.context()));
  }

  private async createDuplicate(): Promise<void> {
    const { result, exchange } = await this.create(this.facts.sent);
    if (result !== undefined) await this.life.finish(result);
    this.facts.duplicate = exchange;
  }

  /** Changes the labels and other fields. */
  private async update(): Promise<void> {
    const { facts } = this;
    const odd = await this.change({ labels: ODD_LABELS });
    const isOddAccepted = odd.reply.status < 400;
    const labels = isOddAccepted ? ODD_LABELS : PLAIN_LABELS;
    const first = isOddAccepted ? odd : await this.change({ labels });
    const update: Update = { first, isOddAccepted, relabeled: { ...facts.sent, labels } };
    facts.update = update;
    if (first.reply.status >= 400) return;
    const { revision } = this;
    const fields = { labels: { probe: "second" } };
    const second = await this.change(fields, async () => {
      update.busy = (await this.put(revision, fields)).exchange;
    });
    update.stale = (await this.put(revision, fields)).exchange;
    const third = await this.change({ labels });
    if (second.reply.status < 400 && third.reply.status < 400)
      update.isHash = this.revision !== undefined && this.revision === revision;
    update.keys = await this.change({ ssh_keys: [newSshKey(), newSshKey()] });
    update.renamed = await this.rename();
  }

  private async rename(): Promise<NonNullable<Update["renamed"]>> {
    const name = `${this.facts.name}-renamed`;
    const { exchange } = await this.putCurrent({ name });
    let id: string | undefined;
    if (exchange.reply.status < 400)
      await repeat(this.life.context(), async () => {
        id = (await this.named(name))?.id;
        return id !== undefined;
      });
    const renamed = { exchange, isShown: id !== undefined, hasNewId: id !== this.id };
    this.id = id ?? this.id; // which may follow the name
    return renamed;
  }

  private async delete(): Promise<void> {
    const { life, facts, id } = this;
    const request = life.session.client.instances.delete(id, life.context());
    const { result, exchange } = await this.exchanges.attempt("DELETE", request);
    facts.deletion = { exchange };
    if (result === undefined) return;
    await this.settle(result);
    facts.deletion.reads = await this.readUntil(id, (fields) => fields === undefined);
    // Creates another instance if the service may reuse the id of the deleted one.
    if (!/^\d+$/.test(id) && !id.startsWith(facts.name)) return;
    await life.forgetInstance(id);
    const next = await this.create(facts.sent);
    const nextId = next.result && (await life.finish(next.result)).id;
    if (nextId !== undefined) facts.deletion.isIdReused = nextId === id;
  }

  private async readFailed(): Promise<void> {
    this.facts.left = (await this.life.list()).map(({ fields }) => fields);
  }

  /**
   * Changes the instance, and waits until the service shows the change.
   *
   * @param meanwhile called while an operation applies the change
   */
  private async change(fields: WireFields, meanwhile?: () => Promise<void>): Promise<Change> {
    const { result, exchange } = await this.putCurrent(fields, meanwhile);
    if (result === undefined) return exchange;
    const [[name, wanted] = ["", ""]] = Object.entries(fields);
    const lag = await this.readUntil(this.id, (shown) => hasChanged(shown?.[name], wanted));
    const now = await this.life.reread(this.id);
    this.revision = now?.revision;
    return { ...exchange, lag, shown: now?.fields };
  }

  /** Sends an update. If the revision is outdated, for example because replies lag, waits for another one and sends the update again. */
  private async putCurrent(fields: WireFields, meanwhile?: () => Promise<void>) {
    let sent = await this.put(this.revision, fields, meanwhile);
    const isCurrent = (): boolean => sent.exchange.reply.status !== 412;
    if (isCurrent()) return sent;
    await repeat(this.life.context(), async () => {
      const now = await this.life.reread(this.id);
      if (now?.revision === undefined || now.revision === this.revision) return false;
      this.revision = now.revision;
      sent = await this.put(this.revision, fields, meanwhile);
      return isCurrent();
    });
    return sent;
  }

  /** Sends an update, and waits for its operation. */
  private async put(revision: string | undefined, fields: WireFields, meanwhile?: () => Promise<void>) {
    const body = JSON.stringify({ ...this.facts.sent, ...fields });
    const { instances } = this.life.session.client;
    const request = instances.update(this.id, body, revision ?? "", this.life.context());
    const sent = await this.exchanges.attempt("PUT", request);
    if (sent.result !== undefined && sent.exchange.reply.status === 202) await meanwhile?.();
    await this.settle(sent.result);
    return sent;
  }

  private create(fields: WireFields, options?: Options, kind: "project" | "instance" = "instance") {
    return this.exchanges.attempt("POST", this.life.create(kind, fields, options));
  }

  /** Waits for the operation of a change. A failed or purged operation is reported elsewhere. */
  private async settle(accepted: Accepted | undefined): Promise<void> {
    if (accepted?.kind === "operation" && !isTerminal(accepted.operation))
      await this.life.end(accepted.operation);
  }

  private readUntil(id: string, isExpected: (fields: WireFields | undefined) => boolean): Promise<Reads> {
    return readUntil(this.life.context(), () => this.shown(id), isExpected);
  }

  private async named(name: string): Promise<ApiObject | undefined> {
    return (await this.life.list()).find(({ fields }) => fields.name === name);
  }

  /** Returns the instance in the list and at its URL. If the service has no GET of one object, the list counts for both. */
  private async shown(id: string | undefined): Promise<Shown> {
    const { life, facts } = this;
    if (id === undefined) return { lists: undefined, reads: undefined };
    const lists = (await life.list()).find((one) => one.id === id)?.fields;
    if (!facts.canGet) return { lists, reads: lists };
    try {
      return { lists, reads: (await life.session.client.instances.get(id, life.context())).fields };
    } catch (error) {
      if (!isCloudInfraError(error) || !["not_found", "unsupported"].includes(error.code)) throw error;
      if (error.code === "unsupported") facts.canGet = false;
      return { lists, reads: facts.canGet ? undefined : lists };
    }
  }

  /** Records that nothing can be created. */
  private async reject(exchange: Exchange, what: "project" | "instance"): Promise<false> {
    const { client } = this.life.session;
    const { projectId = "" } = this.life;
    const projects = await client.projects.list(this.life.context("project"));
    const isVisible = what === "project" || projects.some(({ id }) => id === projectId);
    this.facts.refusal = { exchange, what, ...(!isVisible && { hiddenProject: projectId }) };
    return false;
  }
}

const isVisible = (fields: WireFields | undefined): boolean => fields !== undefined;

function offersGet(findings: readonly Finding[]): boolean {
  return findings.some(({ point, verdict }) => point === "singleObject" && verdict === "works");
}

/** Returns a valid public key, whose private key nobody has. */
function newSshKey(): string {
  const { publicKey } = generateKeyPairSync("ed25519");
  const key = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const blob = Buffer.concat([Buffer.from("\0\0\0\x0bssh-ed25519\0\0\0\x20"), key]); // with the length of each part
  return `ssh-ed25519 ${blob.toString("base64")} probe`;
}

/** Whether a field shows a change, perhaps in another form. Labels have another value of `probe`, and lists another length. */
function hasChanged(shown: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) return Array.isArray(shown) && shown.length === wanted.length;
  return Object(shown).probe === Object(wanted).probe;
}
