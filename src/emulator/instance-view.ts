import type { Behaviour } from "./behaviour";
import { dateInList, plainDate } from "./dates";
import { idOnWire } from "./ids";
import { normalized } from "./normalization";
import { json, present, type Reply, without } from "./reply";
import { revisionFields, revisionHeaders } from "./revisions";
import type { State, StoredInstance } from "./state";

/** An instance as lists show it (§2.2, §4.4). */
export function instanceInList(state: State, instance: StoredInstance): object {
  const { behaviour } = state;
  const item = view(state, instance, (at) => dateInList(behaviour, at));
  return rewritten(behaviour, without(behaviour.itemsWithout, item), "item");
}

/** An instance, as a reply to a read. */
export function instanceReply(state: State, instance: StoredInstance): Reply {
  const { behaviour } = state;
  const body = rewritten(behaviour, view(state, instance, plainDate), "object");
  return json(200, body, revisionHeaders(behaviour, instance));
}

/** An instance, as a reply to a change. */
export function changedReply(state: State, instance: StoredInstance): Reply {
  const { behaviour } = state;
  if (behaviour.writeReply === "full") return instanceReply(state, instance);
  const id = idOnWire(behaviour, instance.id);
  const slim = { id, status: instance.status, ...revisionFields(behaviour, instance) };
  return json(200, slim, revisionHeaders(behaviour, instance));
}

function rewritten({ spelling }: Behaviour, instance: object, place: "item" | "object"): object {
  return spelling?.({ ...instance }, place) ?? instance;
}

function view(state: State, instance: StoredInstance, date: (at: number) => string): object {
  const { behaviour } = state;
  const fields = normalized(behaviour.normalize, instance.fields);
  const { address } = instance;
  const shown = present(behaviour, {
    id: idOnWire(behaviour, instance.id),
    public_ip: undefined,
    ...fields,
    ...(behaviour.publicIpShows === "null" && { public_ip: null }),
    project: idOnWire(behaviour, fields.project),
    ...(address === undefined && behaviour.ipField === "public_ip" ? {} : { [behaviour.ipField]: address }),
    status: instance.status,
    created_at: date(instance.createdAt),
    updated_at: date(instance.updatedAt),
    url: `${behaviour.linkOrigin ?? state.url}/v1/instances/${instance.id}`,
    ...revisionFields(behaviour, instance),
    ...behaviour.extraFields,
  });
  return without(behaviour.unshown, shown);
}
