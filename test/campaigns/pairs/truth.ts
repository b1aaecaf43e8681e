import { isDeepStrictEqual } from "node:util";
import type { LoggedRequest } from "../../../src/emulator";
import type { Deployment, StateResource } from "../../harness/engine";
import { inClear, ownStates } from "../../harness/state";
import type { Declared } from "./declared";
import { type DoneStep, isPlain, isUnknownIn, type Played } from "./run";

/** The results of an `up` and of the preview before it. */
export interface Seen {
  readonly declared: ReadonlyMap<string, Declared>;
  readonly before: Deployment;
  readonly preview: Played;
  readonly up: Played;
  readonly after: Deployment;
  /** Whether the service normalizes values. The provider then sends ignored properties as the service reports them. */
  readonly isNormalized: boolean;
}

/** A step that was announced but not made, made but not announced, or announced with another value. */
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
  // The remaining requests belong to no step.
  for (const { method, path, body } of writes)
    found.push({ resource: "", words: `${method} ${path} ${body} was sent without a step` });
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

/** Returns what happened to a resource, regardless of the order of the steps. */
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
  // A value that is unknown in the preview may stay the same.
  const isOpen = reasons.length > 0 && reasons.every((name) => isOpenIn(said, name));
  if (mayStay.includes(made) && isOpen) return [];
  return [`preview announced "${announced}"${forReasons(said)}, but up made "${made}"${forReasons(did)}`];
}

/** Every difference that `up` shows must also be in the preview. */
function extraDifferences(said: readonly DoneStep[], did: readonly DoneStep[]): string[] {
  const names = (steps: readonly DoneStep[], which: "diffs" | "replaces"): Set<string> =>
    new Set(steps.flatMap((step) => step[which] ?? []));
  return (["diffs", "replaces"] as const).flatMap((which) => {
    const [announced, made] = [names(said, which), names(did, which)];
    const unsaid = [...made].filter((name) => !announced.has(name));
    const unmade = [...announced].filter((name) => !made.has(name) && !isOpenIn(said, name));
    return [
      ...(unsaid.length > 0 ? [`${which} of up were not announced: ${unsaid.join(", ")}`] : []),
      ...(unmade.length > 0 ? [`${which} were announced but not made: ${unmade.join(", ")}`] : []),
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

/** Checks that the request of a step was sent once, and removes it from `writes`. */
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
      : [`${step.op} needs one ${what}, but there were ${found.length}`];
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
      if (last !== undefined) return bodyDiffers(inputs, last.body);
      return isEmptyList(seen, step, all) ? [] : ["update was announced and made, but no request was sent"];
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

/** Compares the request with the state. Labels of somebody else may be in the request, too. */
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
      : [`the request has ${wire} ${JSON.stringify(asked)}, but the state has ${JSON.stringify(wanted)}`];
  });
}

/** Reports whether a step only starts or stops managing an empty list of SSH keys. Only the state may change then. */
function isEmptyList(seen: Seen, step: DoneStep, now: Readonly<Record<string, unknown>>): boolean {
  const before = Object(inClear(oldOf(seen, step)?.inputs));
  const lists = [before.sshKeys, now.sshKeys].map((keys) => keys ?? []);
  return isDeepStrictEqual(step.diffs, ["sshKeys"]) && isDeepStrictEqual(lists, [[], []]);
}

/** Returns the earlier entry of a step's resource, which may have had another name. */
function oldOf({ before, declared }: Seen, { urn }: DoneStep): StateResource | undefined {
  const names = [nameOf(urn), ...(declared.get(nameOf(urn))?.options.aliases ?? [])];
  return ownStates(before).find((one) => names.includes(nameOf(one.urn)));
}

/** Compares the known values of the preview with the inputs and outputs in the state after `up`. */
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
          `${side} of the preview have ${name} ${JSON.stringify(value)}, but up resulted in ${JSON.stringify(values[name])}`,
      );
  });
}
