import type { ApiObject } from "../api/client";
import { isCloudInfraError } from "../diagnostics/error";
import type { Behaviour } from "../emulator";
import { isSameJson } from "../model/changes";
import { instanceKind } from "../model/kinds";
import type { Operation } from "../polling/wait";
import type { Exchange, Exchanges, Lifecycle } from "./lifecycle";
import { type Finding, finding } from "./points";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Creates, changes and deletes one instance, and reports how the service behaves. The caller cleans up.
 *
 * @param fields the arguments of the instance, with wire names
 * @throws CloudInfraError if the instance can't be created
 */
export async function exercise(life: Lifecycle, exchanges: Exchanges, fields: Fields): Promise<Finding[]> {
  const findings: Finding[] = [];
  const sent = { ...fields, name: life.name, labels: { probe: "true", other: "kept" } };
  const { key, accepted, created } = await life.create("instance", sent);
  const first = exchanges.last("POST");
  findings.push(creationReply(first));
  findings.push(await visibility(life));
  findings.push(...(await replay(life, exchanges, { key, sent, first })));
  const started = exchanges.all.length;
  const object = await created();
  const polls = exchanges.all
    .slice(started)
    .filter(({ request }) => request.url.pathname.includes("/operations/"));
  if (accepted.kind === "operation") {
    findings.push(operation(polls, first));
    findings.push(await finishedOperation(life, accepted.operation));
  }
  findings.push(createdValues(object, sent));
  findings.push(await duplicateName(life, exchanges, sent));
  findings.push(...(await update(life, exchanges, object)));
  findings.push(await deletion(life, exchanges, object));
  return findings;
}

const formOf = (link: unknown): "missing" | "relative" | "absolute" =>
  typeof link !== "string" ? "missing" : link.startsWith("/") ? "relative" : "absolute";

function creationReply({ reply, json }: Exchange): Finding {
  const location = formOf(reply.header("location"));
  const hasOperation = "id" in json && "status" in json;
  const behaviour: Partial<Behaviour> = {
    location,
    ...(reply.status === 202 && !hasOperation && { acceptedReply: "location" }),
  };
  const observation = `${reply.status}; ${hasOperation ? "an operation or object" : "no operation"} in the body; Location: ${location}`;
  const isUntraceable = !hasOperation && location === "missing";
  return isUntraceable
    ? finding("creation", "fails", observation, "The result of a creation can't be found")
    : finding("creation", "works", observation, "none", { behaviour });
}

async function visibility(life: Lifecycle): Promise<Finding> {
  const { instances } = life.session.client;
  const listed = await instances.list({ project: life.projectId }, life.context(instanceKind));
  const isVisible = listed.some(({ fields }) => fields.name === life.name);
  const instanceVisible = isVisible ? "at-once" : "when-done";
  const observation = `Lists show a new instance ${isVisible ? "immediately" : "later"}`;
  return finding("visibility", "works", observation, "none", { behaviour: { instanceVisible } });
}

/** Sends the creation again, and then another one with the same key. */
async function replay(
  life: Lifecycle,
  exchanges: Exchanges,
  { key, sent, first }: { key: string; sent: Fields; first: Exchange },
): Promise<Finding[]> {
  await life.create("instance", sent, key).catch(requireRejection);
  const second = exchanges.last("POST");
  const isSame = second.json.id === first.json.id && second.reply.status < 300;
  if (!isSame)
    return [
      finding(
        "replay",
        "limited",
        `The same key returned ${second.reply.status} with another result`,
        "If a reply is lost, a retry may create a second object. The package can't prevent that",
      ),
    ];
  await life.create("instance", { ...sent, name: `${life.name}-other` }, key).catch(requireRejection);
  const { reply, json } = exchanges.last("POST");
  const { status } = reply;
  const code = typeof json.code === "string" ? { keyReuseCode: json.code } : {};
  const known = [422, 409, 400] as const;
  const keyReuseStatus = known.find((one) => one === status);
  return [
    finding("replay", "works", "The same request with the same key returned the same result", "none"),
    finding(
      "keyReuse",
      "works",
      status < 300
        ? "Another request with the key returned the first result"
        : `Another request with the key was rejected (${status})`,
      "none",
      keyReuseStatus === undefined ? {} : { behaviour: { keyReuseStatus, ...code } },
    ),
  ];
}

function operation(polls: readonly Exchange[], { json: first }: Exchange): Finding {
  const states = [first, ...polls.map(({ json }) => json)].filter((json) => "status" in json);
  const statuses = [...new Set(states.map(({ status }) => String(status)))];
  const values = states.flatMap(({ progress }) =>
    progress === undefined || progress === null ? [] : Number(progress),
  );
  const last = states.at(-1) ?? {};
  const running = states.slice(0, -1);
  const isEarly = running.some(({ result_url }) => typeof result_url === "string");
  const link = formOf(last.result_url);
  const retryAfter = polls
    .map(({ reply }) => Number(reply.header("retry-after")))
    .find((seconds) => seconds > 0);
  const behaviour: Partial<Behaviour> = {
    ...(values.length === 0 && { progress: "absent" }),
    ...(running.length > 2 && new Set(values.slice(0, -1)).size === 1 && { progress: "stuck" }),
    finishedAt: last.finished_at !== undefined && last.finished_at !== null,
    resultLink: link === "absolute" && isEarly ? "early" : link,
    ...(retryAfter !== undefined && { retryAfter }),
  };
  const progress = values.length === 0 ? "no progress" : `${new Set(values).size} values of progress`;
  const observation = `Statuses: ${statuses.join(", ")}; ${progress}; result link: ${behaviour.resultLink}`;
  const consequence =
    values.length === 0 ? "Pulumi's display shows no percentage, and waits are up to 20% longer" : "none";
  return finding("operation", "works", observation, consequence, { behaviour });
}

/** Reads an operation after its end. */
async function finishedOperation(life: Lifecycle, ended: Operation): Promise<Finding> {
  try {
    await life.session.client.operations.poll(ended, life.context(instanceKind));
    return finding("finishedOperation", "works", "Can still be read", "none");
  } catch (error) {
    if (!isCloudInfraError(error) || error.code !== "not_found") throw error;
    const observation = `Is purged after its end (${error.status})`;
    return finding("finishedOperation", "works", observation, "The provider finds the result without it", {
      behaviour: { operationKeptPolls: 1, ...(error.status === 410 && { purgedStatus: 410 }) },
    });
  }
}

/** Compares the new instance with the request. */
function createdValues({ fields }: ApiObject, sent: Fields): Finding {
  const differing = Object.keys(sent).filter(
    (name) => fields[name] !== undefined && !isSameJson(fields[name], sent[name]),
  );
  const isEmpty = (value: unknown): boolean =>
    Object.keys(Object(value)).length === 0 && typeof value !== "string";
  const postIgnores = differing.filter((name) => isEmpty(fields[name]));
  const normalized = differing.filter((name) => !postIgnores.includes(name));
  const parts = [
    postIgnores.length > 0 && `Ignored: ${postIgnores.join(", ")}`,
    normalized.length > 0 && `Normalized: ${normalized.join(", ")}`,
  ].filter(Boolean);
  const status = typeof fields.status === "string" ? { statusAfterCreate: fields.status } : {};
  const consequence =
    postIgnores.length > 0 ? "The provider sets these fields with an update after each creation" : "none";
  return finding("createdValues", "works", parts.join("; ") || "As requested", consequence, {
    behaviour: { postIgnores, ...status },
  });
}

async function duplicateName(life: Lifecycle, exchanges: Exchanges, sent: Fields): Promise<Finding> {
  await life.create("instance", sent).catch(requireRejection);
  const { status } = exchanges.last("POST").reply;
  const uniqueNames = status >= 400;
  const observation = uniqueNames
    ? `A second instance with the name is rejected (${status})`
    : "Names need not be unique";
  return finding("duplicateNames", "works", observation, "none", { behaviour: { uniqueNames } });
}

async function update(life: Lifecycle, exchanges: Exchanges, object: ApiObject): Promise<Finding[]> {
  const { instances } = life.session.client;
  const context = life.context(instanceKind);
  const { revision } = object;
  if (revision === undefined)
    return [finding("update", "limited", "Not tried without a revision", "Updates require a revision")];
  const { id, name, project, image, flavor, network, public_ip, ssh_keys } = object.fields;
  const writable = { project, name, image, flavor, network, public_ip, ssh_keys };
  const body = JSON.stringify({ ...writable, labels: { probe: "changed" } });
  try {
    await life.ended(await instances.update(String(id), body, revision, context));
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    const { status = 0 } = exchanges.last("PUT").reply;
    const consequence = "Changes of labels fail: use `replaceOnChanges` or `ignoreChanges`";
    return [finding("update", "limited", `Rejected (${status})`, consequence)];
  }
  const { reply, json } = exchanges.last("PUT");
  const putReply = ([200, 204, 202] as const).find((one) => one === reply.status);
  const isSlim = reply.status === 200 && !("flavor" in json);
  const behaviour: Partial<Behaviour> = {
    ...(putReply !== undefined && { putReply }),
    writeReply: isSlim ? "slim" : "full",
  };
  const found = [
    finding("update", "works", `${reply.status}${isSlim ? " with a part of the instance" : ""}`, "none", {
      behaviour,
    }),
  ];
  const now = await life.reread(String(id));
  const labels: Fields = Object(now?.fields.labels);
  found.push(
    "other" in labels
      ? finding("labels", "limited", "A label that an update omits stays", "The provider can't remove labels")
      : finding("labels", "works", "An update replaces all labels", "none"),
  );
  await instances.update(String(id), body, revision, context).catch(requireRejection);
  const { status } = exchanges.last("PUT").reply;
  found.push(
    status === 412
      ? finding("staleRevision", "works", "An outdated If-Match is rejected (412)", "none")
      : finding(
          "staleRevision",
          "limited",
          `An outdated If-Match returned ${status}`,
          "Changes of other people can be overwritten",
        ),
  );
  return found;
}

async function deletion(life: Lifecycle, exchanges: Exchanges, { id }: ApiObject): Promise<Finding> {
  const isDeleted = await life.removeInstance(id);
  const reply = exchanges.last("DELETE").reply.status;
  const deleteObject = ([204, 202, 200, 405] as const).find((one) => one === reply);
  const sent = exchanges.all.findLastIndex(({ request }) => request.method === "DELETE");
  const objects = exchanges.all
    .slice(sent + 1)
    .flatMap(({ json }): unknown[] => (Array.isArray(json.items) ? json.items : [json]));
  const left = objects.map(Object).find((one) => String(one.id) === id && "flavor" in one);
  const behaviour: Partial<Behaviour> = {
    ...(deleteObject !== undefined && { deleteObject }),
    ...(typeof left?.status === "string" && { softDelete: left.status }),
  };
  const end = left === undefined ? "no longer exists" : `remains visible with the status ${left.status}`;
  return isDeleted
    ? finding("deletion", "works", `${reply}, and the instance ${end}`, "none", { behaviour })
    : finding(
        "deletion",
        "limited",
        `Not supported (${reply})`,
        "Set `retainOnDelete`, and delete objects with the service's own tools",
        { behaviour },
      );
}

/** Accepts a rejection of the service. */
function requireRejection(error: unknown): undefined {
  if (isCloudInfraError(error) && error.status !== undefined) return undefined;
  throw error;
}
