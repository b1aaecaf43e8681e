import { isDeepStrictEqual } from "node:util";
import type { LoggedRequest } from "../../../src/emulator";
import type { Deployment, StateResource } from "../../harness/engine";
import { inClear, ownStates } from "../../harness/state";
import type { Declared } from "./declared";
import { type DoneStep, isPlain, isUnknownIn, type Played } from "./run";

/** All that an `up` and the preview before it came to. */
export interface Seen {
  readonly declared: ReadonlyMap<string, Declared>;
  readonly before: Deployment;
  readonly preview: Played;
  readonly up: Played;
  readonly after: Deployment;
  /** Whether the service normalizes values. An ignored property is then sent as the service reports it. */
  readonly isNormalized: boolean;
}

/** What was announced and not made, made and not announced, or announced with another value. */
export interface Untruth {
  readonly resource: string;
  readonly words: string;
}

export function untruths(seen: Seen): Untruth[] {
  const announced = byResource(seen.preview.steps);
  const made = byResource(seen.up.steps);
  const all = new Set([...announced.keys(), ...made.keys()]);
  const writes = [...seen.up.writes];
  const found: Untruth[] = [];
  for (const resource of all) {
    const [said, did] = [announced.get(resource) ?? [], made.get(resource) ?? []];
    const words = [
      ...stepsDiffer(said, did),
      ...did.flatMap((step) => notRequested(seen, step, writes)),
      ...said.flatMap((step) => valuesDiffer(seen, step, did)),
    ];
    found.push(...words.map((text) => ({ resource, words: text })));
  }
  // What is left was asked of the service without a step that says so.
  for (const { method, path, body } of writes)
    found.push({ resource: "", words: `${method} ${path} ${body} was made, and no step tells of it` });
  return found;
}

export const nameOf = (urn: string): string => urn.slice(urn.lastIndexOf("::") + 2);

function byResource(steps: readonly DoneStep[]): Map<string, DoneStep[]> {
  const found = new Map<string, DoneStep[]>();
  for (const step of steps) found.set(nameOf(step.urn), [...(found.get(nameOf(step.urn)) ?? []), step]);
  return found;
}

const REPLACING = new Set(["create-replacement", "replace", "delete-replaced"]);

type Outcome = "same" | "update" | "replace" | string;

/** What became of a resource, whatever the order of the steps. */
function outcomeOf(steps: readonly DoneStep[]): Outcome {
  const ops = steps.map(({ op }) => op).filter((op) => op !== "read");
  if (ops.some((op) => REPLACING.has(op))) return "replace";
  return [...new Set(ops)].sort().join(" and ") || "same";
}

function stepsDiffer(said: readonly DoneStep[], did: readonly DoneStep[]): string[] {
  const [announced, made] = [outcomeOf(said), outcomeOf(did)];
  if (announced === made) return extraDifferences(said, did);
  const reasons = said.flatMap(({ diffs = [], replaces = [] }) =>
    announced === "replace" ? replaces : diffs,
  );
  const mayStay = announced === "replace" ? ["update", "same"] : announced === "update" ? ["same"] : [];
  // What is not known yet may turn out to be what it was.
  const isOpen = reasons.length > 0 && reasons.every((name) => isOpenIn(said, name));
  if (mayStay.includes(made) && isOpen) return [];
  return [`preview announced "${announced}"${forReasons(said)}, and up made "${made}"${forReasons(did)}`];
}

/** A difference that `up` shows was one in the preview, too. */
function extraDifferences(said: readonly DoneStep[], did: readonly DoneStep[]): string[] {
  const names = (steps: readonly DoneStep[], which: "diffs" | "replaces"): Set<string> =>
    new Set(steps.flatMap((step) => step[which] ?? []));
  return (["diffs", "replaces"] as const).flatMap((which) => {
    const [announced, made] = [names(said, which), names(did, which)];
    const unsaid = [...made].filter((name) => !announced.has(name));
    const unmade = [...announced].filter((name) => !made.has(name) && !isOpenIn(said, name));
    return [
      ...(unsaid.length > 0 ? [`${which} of up were not announced: ${unsaid.join(", ")}`] : []),
      ...(unmade.length > 0 ? [`${which} were announced and not made: ${unmade.join(", ")}`] : []),
    ];
  });
}

function isOpenIn(steps: readonly DoneStep[], name: string): boolean {
  const [top = ""] = name.split(/[.[]/);
  return steps.some(({ shown }) => isUnknownIn(shown.inputs[top]));
}

function forReasons(steps: readonly DoneStep[]): string {
  const reasons = [...new Set(steps.flatMap(({ diffs = [], replaces = [] }) => [...diffs, ...replaces]))];
  return reasons.length === 0 ? "" : ` (${reasons.join(", ")})`;
}

/** The request that a step stands for was made, once; it is taken out of `writes`. */
function notRequested(seen: Seen, step: DoneStep, writes: LoggedRequest[]): string[] {
  const now = ownStates(seen.after).find(({ urn, delete: isOld }) => urn === step.urn && !isOld);
  const { options = {} } = seen.declared.get(nameOf(step.urn)) ?? {};
  const unmanaged = seen.isNormalized ? (options.ignoreChanges ?? []) : [];
  const all = Object(inClear(now?.inputs));
  const managed = Object.entries(all).filter(([name]) => !unmanaged.includes(name));
  const inputs = Object.fromEntries(managed);
  const collection = step.type.endsWith(":Project") ? "/v1/projects" : "/v1/instances";
  const take = (isIt: (request: LoggedRequest) => boolean, atMost: number): LoggedRequest[] => {
    const found = writes.filter(isIt).slice(0, atMost);
    for (const request of found) writes.splice(writes.indexOf(request), 1);
    return found;
  };
  const expectOne = (found: readonly LoggedRequest[], what: string): string[] =>
    found.length === 1
      ? found.flatMap(({ body }) => bodyDiffers(inputs, body))
      : [`${step.op} stands for one ${what}, of which there were ${found.length}`];
  const put = (): LoggedRequest[] =>
    take(
      ({ method, path }) => method === "PUT" && path === `${collection}/${now?.id}`,
      Number.POSITIVE_INFINITY,
    );
  switch (step.op) {
    case "create":
    case "create-replacement": {
      if (options.import !== undefined && step.op === "create")
        return put().flatMap(({ body }) => bodyDiffers(inputs, body));
      const isIt = ({ method, path, body }: LoggedRequest): boolean =>
        method === "POST" && path === collection && JSON.parse(body).name === all.name;
      return expectOne(take(isIt, 2), "POST");
    }
    case "update": {
      const last = put().at(-1);
      return last
        ? bodyDiffers(inputs, last.body)
        : ["update was announced and made, but nothing was asked of the service"];
    }
    case "delete":
    case "delete-replaced": {
      const old = oldOf(seen, step);
      if (old?.retainOnDelete) return [];
      return expectOne(
        take(({ method, path }) => method === "DELETE" && path === `${collection}/${old?.id}`, 2),
        `DELETE of ${old?.id}`,
      );
    }
    default:
      return [];
  }
}

const WIRE = {
  ...{ name: "name", region: "region", project: "project", image: "image", flavor: "flavor" },
  ...{ network: "network", publicIp: "public_ip", sshKeys: "ssh_keys", labels: "labels" },
};

/** The request asked for what the state has; labels of others may go with it. */
function bodyDiffers(inputs: Readonly<Record<string, unknown>>, text: string): string[] {
  if (text === "") return [];
  const body = JSON.parse(text);
  return Object.entries(WIRE).flatMap(([name, wire]) => {
    const [wanted, asked] = [inputs[name], body[wire]];
    if (wanted === undefined) return [];
    const own =
      name === "labels"
        ? Object.fromEntries(Object.keys(Object(wanted)).map((key) => [key, Object(asked)[key]]))
        : asked;
    return isDeepStrictEqual(own, wanted)
      ? []
      : [`${wire} was asked for as ${JSON.stringify(asked)}, and the state has ${JSON.stringify(wanted)}`];
  });
}

/** The entry that a step is about, as it was before; it may have had another name. */
function oldOf({ before, declared }: Seen, { urn }: DoneStep): StateResource | undefined {
  const names = [nameOf(urn), ...(declared.get(nameOf(urn))?.options.aliases ?? [])];
  return ownStates(before).find((one) => names.includes(nameOf(one.urn)));
}

/** What preview showed as known is what the state has after `up`, inputs and outputs. */
function valuesDiffer({ after }: Seen, said: DoneStep, did: readonly DoneStep[]): string[] {
  const isMade = ["create", "create-replacement", "update", "same"].includes(said.op);
  if (!isMade || !did.some(({ op }) => op === said.op)) return [];
  const now = ownStates(after).find(({ urn, delete: isOld }) => urn === said.urn && !isOld);
  return (["inputs", "outputs"] as const).flatMap((side) => {
    const values = Object(inClear(now?.[side]));
    return Object.entries(said.shown[side])
      .filter(
        ([name, value]) =>
          !name.startsWith("__") && isPlain(value) && !isDeepStrictEqual(value, values[name]),
      )
      .map(
        ([name, value]) =>
          `${side} of the preview say ${name} ${JSON.stringify(value)}, and it became ${JSON.stringify(values[name])}`,
      );
  });
}
