import type { Emulator } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import type { Saved } from "../../provider/service";
import type { EngineResource } from "../host/resource";
import type { Ledger } from "./ledger";
import { atService, inProperties, same, targetsOf } from "./targets";

/**
 * Returns changes by somebody else that a refresh doesn't show.
 *
 * @param args the arguments in the program, if known. An unfinished update may have removed other arguments
 */
export function notShown(
  before: Saved,
  after: Saved | undefined,
  { instances, projects }: Emulator,
  ledger: Ledger,
  args = before.inputs,
): string[] {
  const known = before.state.__pending === undefined ? [before.inputs] : [before.inputs, args];
  const isThere = instances.has(before.id) || projects.has(before.id);
  if (after === undefined) return isThere ? [`a refresh removed ${before.id}, which still exists`] : [];
  if (!isThere) return [`a refresh kept ${after.id}, which no longer exists`];
  return ledger.entriesOf(before.id).flatMap(({ target, value }) => {
    if (known.some((properties) => inProperties(target, properties) === undefined)) return [];
    const shown = [after.inputs, after.state].map((properties) => inProperties(target, properties));
    return shown.every((one) => same(one, value))
      ? []
      : [
          `a refresh shows ${target} as ${JSON.stringify(shown)}, but somebody set it to ${JSON.stringify(value)}`,
        ];
  });
}

/** Returns differences from the program after a successful `up`. */
export function notConverged(
  args: Properties,
  { saved, isSettled }: EngineResource,
  { instances, projects }: Emulator,
  isOurs: (id: string) => boolean,
): string[] {
  const objects = new Map([...projects, ...instances].map(([id, { fields }]) => [id, fields]));
  if (saved === undefined || !isSettled) return ["the state has no finished resource"];
  const fields = objects.get(saved.id);
  if (fields === undefined) return [`${saved.id} is in the state, but doesn't exist at the service`];
  const strays = [...objects.keys()].filter((id) => isOurs(id) && id !== saved.id);
  return [
    ...strays.map((id) => `${id} is at the service, but not in the state`),
    ...targetsOf(args).flatMap((target) => {
      const wanted = inProperties(target, args);
      const isSame =
        same(atService(target, fields), wanted) && same(inProperties(target, saved.state), wanted);
      return isSame ? [] : [`${target} is not ${JSON.stringify(wanted)} at the service and in the state`];
    }),
  ];
}
