import { dateInList, plainDate } from "./dates";
import { json, type Reply } from "./reply";
import { revisionFields, revisionHeaders } from "./revisions";
import type { State, StoredInstance } from "./state";

/** An instance as lists show it (§2.2, §4.4). */
export function instanceInList(state: State, instance: StoredInstance): Record<string, unknown> {
  return view(state, instance, (at) => dateInList(state, at));
}

/** An instance by itself, with its revision. */
export function instanceReply(state: State, instance: StoredInstance): Reply {
  return json(200, view(state, instance, plainDate), revisionHeaders(state.behaviour, instance));
}

function view(state: State, instance: StoredInstance, date: (at: number) => string): Record<string, unknown> {
  const { address } = instance;
  return {
    id: instance.id,
    ...instance.fields,
    ...(address === undefined ? {} : { [state.behaviour.ipField]: address }),
    status: instance.status,
    created_at: date(instance.createdAt),
    updated_at: date(instance.updatedAt),
    url: `${state.url}/v1/instances/${instance.id}`,
    ...revisionFields(state.behaviour, instance),
    ...state.behaviour.extraFields,
  };
}
