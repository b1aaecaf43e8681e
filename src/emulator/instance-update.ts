import { isDeepStrictEqual } from "node:util";
import type { InferOutput } from "valibot";
import { assignAddress, changedReply, checkBusy, checkName, targetOf } from "./instances";
import { type Normalization, normalized } from "./normalization";
import { acceptedReply, begin, resultPathOf } from "./operations";
import { conflict, invalid, notFound, type Refusal } from "./problems";
import { bodyless } from "./reply";
import { instanceUpdateBody, parseRequestBody } from "./request-body";
import { checkIfMatch, revisionHeaders } from "./revisions";
import type { Handler, State, StoredInstance } from "./state";

type UpdateBody = InferOutput<typeof instanceUpdateBody>;
type Fields = Record<string, unknown>;

/** Handles PUT /v1/instances/{id} (§4.5), which replaces all fields that can be changed in place. Omitted fields are removed. */
export const updateInstance: Handler = (state, request, id) => {
  const { behaviour } = state;
  const instance = state.instances.byId.get(id);
  if (instance === undefined) return notFound(`instance '${id}'`);
  const busy = checkBusy(state, instance);
  if (busy) return busy;
  if (request.headers["if-match"] === undefined) {
    return { status: 428, code: "precondition_required", detail: "send the revision tag in If-Match" };
  }
  const mismatch = checkIfMatch(request, instance, behaviour);
  if (mismatch) return mismatch;
  const parsed = parseRequestBody(request, instanceUpdateBody, behaviour);
  if (!("fields" in parsed)) return parsed;
  const body = parsed.fields;
  const next = replaced(instance, body, behaviour.normalize);
  const rejection = checkUpdate(state, instance, next, body);
  if (rejection) return rejection;

  const apply = (at: number): StoredInstance => {
    // The fields are computed again, because other fields may have changed while the operation was running.
    const fields = replaced(instance, body, behaviour.normalize);
    for (const field of state.rules.ignoredFields()) {
      if (field in instance.fields) fields[field] = instance.fields[field];
      else delete fields[field];
    }
    if (isDeepStrictEqual(fields, instance.fields)) return instance;
    const isRenamed = fields.name !== instance.fields.name;
    instance.fields = fields;
    assignAddress(state, instance);
    state.changed(instance, at);
    return isRenamed ? withIdOfName(state, instance, at) : instance;
  };
  if (behaviour.putReply === 202) {
    const obstacle = () =>
      state.instances.holds(instance) && instance.status !== "deleting"
        ? undefined
        : conflict("instance_deleted", `instance '${id}' was deleted during the update`);
    const done = (at: number): void => {
      operation.resultPath = resultPathOf({ kind: "instance", id: apply(at).id });
    };
    const target = targetOf(instance, body.name);
    const operation = begin(state, "update", target, { obstacle, done, failed: () => {} });
    return acceptedReply(state, operation);
  }
  const updated = apply(state.now());
  return behaviour.putReply === 204
    ? bodyless(204, revisionHeaders(behaviour, updated))
    : changedReply(state, updated);
};

/** Replaces the id of a renamed instance if ids follow names. */
function withIdOfName(state: State, instance: StoredInstance, at: number): StoredInstance {
  const { ids, idsFollowNames } = state.behaviour;
  if (ids !== "slug" || !idsFollowNames) return instance;
  const moved = { ...instance, id: state.newId("instance", instance.fields.name) };
  state.instances.remove(instance.id, at);
  state.instances.add(moved, at);
  return moved;
}

function replaced(
  { fields, address }: StoredInstance,
  body: UpdateBody,
  ways: readonly Normalization[],
): Fields {
  const { public_ip: oldMode, ...rest } = fields;
  const { public_ip: newMode, ...changes } = body;
  const mode = newMode !== undefined && newMode === address ? oldMode : newMode;
  const publicIp = mode === undefined ? {} : { public_ip: mode };
  const next = { ...rest, ...changes, ssh_keys: body.ssh_keys ?? [], labels: body.labels ?? {}, ...publicIp };
  return kept(next, fields, ways);
}

/** Keeps the old form of each value whose normalized form is unchanged. */
function kept(next: Fields, old: Readonly<Fields>, ways: readonly Normalization[]): Fields {
  const [before, after] = [normalized(ways, old), normalized(ways, next)];
  const isKept = (name: string): boolean => name in old && isDeepStrictEqual(before[name], after[name]);
  return Object.fromEntries(
    Object.entries(next).map(([name, value]) => [name, isKept(name) ? old[name] : value]),
  );
}

function checkUpdate(
  state: State,
  instance: StoredInstance,
  next: Readonly<Fields>,
  body: UpdateBody,
): Refusal | undefined {
  const changed = (field: string) => !isDeepStrictEqual(next[field], instance.fields[field]);
  const fixed = ["project", "image"].filter(changed);
  if (fixed.length > 0) {
    return invalid(
      fixed.map((field) => ({ pointer: `/${field}`, detail: `${field} cannot be changed in place` })),
    );
  }
  return (
    state.rules.checkValues(body) ??
    state.rules.checkChanges(changed) ??
    checkName(state, instance.fields.project, body.name, instance.id)
  );
}
