import { dateInList, plainDate } from "./dates";
import { json, type Reply } from "./reply";
import { revisionFields, revisionHeaders } from "./revisions";
import type { State, StoredInstance } from "./state";

/** An instance as lists show it (§2.2, §4.4). */
export function instanceInList(state: State, instance: StoredInstance): object {
  return spelt(
    state,
    view(state, instance, (at) => dateInList(state, at)),
    "item",
  );
}

/** An instance by itself, with its revision. */
export function instanceReply(state: State, instance: StoredInstance): Reply {
  const body = spelt(state, view(state, instance, plainDate), "object");
  return json(200, body, revisionHeaders(state.behaviour, instance));
}

function spelt(
  { behaviour }: State,
  instance: Readonly<Record<string, unknown>>,
  place: "item" | "object",
): object {
  return behaviour.spelling?.(instance, place) ?? instance;
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
