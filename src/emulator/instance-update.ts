import { isDeepStrictEqual } from "node:util";
import type { InferOutput } from "valibot";
import { instanceUpdateBody, parseBody } from "./body";
import { instanceReply } from "./instance-view";
import { assignAddress, checkName } from "./instances";
import { acceptedReply, begin } from "./operations";
import { invalid, notFound, type Refusal } from "./problems";
import { noContent } from "./reply";
import { checkIfMatch, revisionHeaders } from "./revisions";
import type { Handler, State, StoredInstance } from "./state";

type UpdateBody = InferOutput<typeof instanceUpdateBody>;

/** PUT /v1/instances/{id} (§4.5): replaces all that can be changed in place; a field that is left out is removed. */
export const updateInstance: Handler = (state, request, id) => {
  const instance = state.instances.byId.get(id);
  if (instance === undefined) return notFound(`instance '${id}'`);
  if (instance.status === "deleting") {
    return { status: 409, code: "being_deleted", detail: `instance '${id}' is being deleted` };
  }
  if (request.headers["if-match"] === undefined) {
    return { status: 428, code: "precondition_required", detail: "send the revision tag in If-Match" };
  }
  const mismatch = checkIfMatch(request, instance, state.behaviour);
  if (mismatch) return mismatch;
  const parsed = parseBody(request, instanceUpdateBody, state.behaviour.revisionField);
  if (!("fields" in parsed)) return parsed;
  const next = replaced(instance, parsed.fields);
  const refused = checkUpdate(state, instance, next, parsed.fields);
  if (refused) return refused;
  for (const field of state.rules.ignoredFields()) {
    if (field in instance.fields) next[field] = instance.fields[field];
    else delete next[field];
  }

  const { putReply } = state.behaviour;
  if (putReply === 202) {
    const done = (at: number) => apply(state, instance, next, at);
    const path = `/v1/instances/${id}`;
    return acceptedReply(state, begin(state, "update", path, { done, failed: () => {} }));
  }
  apply(state, instance, next, state.now());
  return putReply === 204
    ? noContent(revisionHeaders(state.behaviour, instance))
    : instanceReply(state, instance);
};

function replaced({ fields, address }: StoredInstance, body: UpdateBody): Record<string, unknown> {
  const { public_ip: oldMode, ...rest } = fields;
  const { public_ip: newMode, ...changes } = body;
  const mode = newMode !== undefined && newMode === address ? oldMode : newMode;
  const publicIp = mode === undefined ? {} : { public_ip: mode };
  return { ...rest, ...changes, ssh_keys: body.ssh_keys ?? [], labels: body.labels ?? {}, ...publicIp };
}

function checkUpdate(
  state: State,
  instance: StoredInstance,
  next: Readonly<Record<string, unknown>>,
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

function apply(state: State, instance: StoredInstance, next: Record<string, unknown>, at: number): void {
  if (isDeepStrictEqual(next, instance.fields)) return;
  instance.fields = next;
  if (instance.status !== "creating") assignAddress(state, instance);
  state.changed(instance, at);
}
