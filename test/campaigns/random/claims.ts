import { isDeepStrictEqual } from "node:util";
import { isPlaceholder } from "../../../src/model/pending";
import type { Properties } from "../../../src/model/state";
import { parseRecorded } from "../../../src/model/state";
import { InitializationError, type ReadResult } from "../../../src/provider/host";
import type { Case } from "./case";
import type { Scene } from "./scene";
import type { Exchange } from "./served";

/**
 * Checks the provider's claims against the service's replies. If no reply was a lie, also checks them against the
 * service's objects.
 */
export interface Claims {
  created(id: string, inputs: Properties, before: ReadonlySet<string>, from: number): void;
  /** @param before the objects at the start of the call  @param from the number of the call's first exchange */
  notCreated(error: unknown, before: ReadonlySet<string>, from: number): void;
  read(id: string, answer: ReadResult, from: number): void;
  /** @param update the state, the program's inputs, the new state, and the service's earlier fields */
  updated(id: string, update: Readonly<Record<"olds" | "news" | "outs" | "before", Properties>>): void;
  /** Called at the end of `destroy`. */
  destroyed(id: string, from: number): void;
}

const isGood = ({ status }: Exchange): boolean => status >= 200 && status < 300;

const FOREIGN_ITEM = /"id":[^,]*,"project":[^,]*,"name":"ins-foreign"/;

export function claimsOf(scene: Scene): Claims {
  const { one, served } = scene;
  const list = `/v1/${one.kind}s`;
  const isThere = (id: string): boolean => scene.objects().has(id);

  /** Returns whether a list omitted the object or showed the foreign object under its id, or a reply showed it as deleted. */
  function wasSeenAbsent(id: string, from: number): boolean {
    return served.exchanges
      .slice(from)
      .some(
        (seen) =>
          isGood(seen) &&
          seen.method === "GET" &&
          (/deleted|terminated/i.test(seen.text)
            ? [list, `${list}/${id}`].includes(seen.path)
            : seen.path === list &&
              ![id, Number(id)].some((one) =>
                seen.text.replace(FOREIGN_ITEM, "").includes(`"id":${JSON.stringify(one)},`),
              )),
      );
  }

  // An object with other values than the failed creation may belong to somebody else, so the provider warns and leaves it alone. A damaged
  // record may also contain a failure.
  const mayHaveFailed = one.failure !== "none" || one.steps.some(recordsFailure);
  const isLeftAlone = (): boolean => mayHaveFailed && scene.hasWarnedOfOther;

  return {
    created(id, inputs, before, from) {
      // A list with lag may still show an object that somebody has deleted.
      if (scene.isTruthful && !one.behaviour.lagMs && !isThere(id))
        scene.broke(`created ${id}, which doesn't exist`);
      const posts = served.exchanges.slice(from).filter(({ method }) => method === "POST");
      const others = [...scene.objects()].filter((one) => one !== id && !before.has(one));
      if (scene.isTruthful && one.failure === "none" && others.length > 0 && !isStoredFailure(posts))
        scene.broke(`created ${id}, and also ${others.join(", ")}`);
      if (scene.isDamaged || "__import" in inputs || !/^[\w-]+$/.test(id)) return;
      const names = ({ method, path }: Exchange): boolean =>
        method === "POST" || path.includes("/operations/");
      if (!served.exchanges.some((seen) => isGood(seen) && names(seen) && seen.text.includes(id)))
        scene.broke(`created ${id}, which no reply to its creation contained`);
    },
    notCreated(error, before, from) {
      if (error instanceof InitializationError) {
        const { operation, key, body, at, failed } = parseRecorded(error.properties).pending ?? {};
        const isSent = body !== undefined && at !== undefined;
        const isKept = operation !== undefined || (key !== undefined && (isSent || failed === true));
        if (error.id === "" || (isPlaceholder(error.id) && !isKept && !scene.isDamaged))
          scene.broke(`saved ${error.id} without the data of its creation: ${error.message}`);
        return;
      }
      const posts = served.exchanges.slice(from).filter(({ method }) => method === "POST");
      const keys = new Set(posts.flatMap(({ key }) => key ?? []));
      if (!scene.isTruthful || keys.size > 1 || isStoredFailure(posts)) return;
      // The failure doesn't name the object that it leaves behind.
      if (one.failure === "object left" && one.behaviour.resultLink === "missing") return;
      // The state or the journal still contains the creation of an earlier run.
      if ([...keys].some((key) => scene.remembers(key))) return;
      const words = error instanceof Error ? error.message : "";
      const lost = [...scene.objects()].filter((id) => !before.has(id) && !words.includes(`object ${id}`));
      if (lost.length > 0) scene.broke(`lost ${lost.join(", ")}: ${words}`);
    },
    read(id, answer, from) {
      if ("id" in answer) {
        const isOtherId = ({ spoiling }: Case["plan"][number]): boolean =>
          spoiling.kind === "another object" && spoiling.id === answer.id;
        const followsName = one.behaviour.ids === "slug" && one.behaviour.idsFollowNames;
        const mayBeRenamed = followsName || one.plan.some(isOtherId);
        if (!isPlaceholder(id) && answer.id !== id && !mayBeRenamed && !scene.isDamaged)
          scene.broke(`read ${answer.id} for ${id}`);
        return;
      }
      if (isLeftAlone()) return;
      if (scene.isTruthful && !isPlaceholder(id) && isThere(id))
        scene.broke(`read ${id} as deleted, although it exists`);
      if (!isPlaceholder(id) && !wasSeenAbsent(id, from))
        scene.broke(`read ${id} as deleted without evidence`);
    },
    updated(id, { olds, news, outs, before }) {
      const object = scene.service.state.instances.byId.get(id);
      if (!scene.isTruthful || one.kind === "project") return;
      if (object === undefined) return scene.broke(`updated ${id}, which doesn't exist`);
      for (const name of ["name", "flavor", "network"]) {
        // The inputs may contain the program's value for an import, although it is ignored.
        const wanted = one.ignores.includes(name) ? olds[name] : news[name];
        if (outs[name] !== wanted) scene.broke(`updated ${id}, but its ${name} differs in the outputs`);
        const isChanged = olds[name] !== wanted;
        if (isChanged && object.fields[name] !== wanted)
          scene.broke(`updated ${id}, but its ${name} differs at the service`);
      }
      if (parseRecorded(olds).pending !== undefined) return;
      for (const [name, wire] of KEPT) {
        const isChanged = !isDeepStrictEqual(olds[name], news[name]);
        const isKnown = olds[name] !== undefined || mayBeKept(one, wire);
        // If the service shows only the address, the address must stay.
        const shown = wire === "public_ip" && one.behaviour.publicIpShows === "null" ? "address" : wire;
        const after: Properties = { ...object.fields, address: object.address };
        // The provider can't keep a change by somebody else that no reply shows (README).
        const isHidden =
          one.behaviour.unshown?.includes(wire) &&
          one.steps.some((step) => step.do === "edit" && step.field === wire);
        if (!isChanged && isKnown && !isHidden && !isDeepStrictEqual(after[shown], before[shown]))
          scene.broke(`updated ${id}, which also changed its ${wire}`);
      }
    },
    destroyed(id, from) {
      if (isPlaceholder(id) || isLeftAlone()) return;
      if (scene.isTruthful && isThere(id)) scene.broke(`deleted ${id}, which still exists`);
      if (!wasSeenAbsent(id, from)) scene.broke(`deleted ${id} without evidence of the deletion`);
    },
  };
}

function recordsFailure(step: Case["steps"][number]): boolean {
  if (step.do !== "damage") return false;
  const { damage } = step;
  const record: { readonly failed?: unknown } | undefined =
    damage.of === "journal" ? damage.members : damage.of === "pending" ? Object(damage.pending) : undefined;
  return record?.failed === true;
}

const KEPT = [
  ["publicIp", "public_ip"],
  ["sshKeys", "ssh_keys"],
  ["image", "image"],
] as const;

/** Returns whether a reply shows this unmanaged property (README). */
function mayBeKept({ behaviour }: Case, wire: string): boolean {
  const { unshown = [], itemsWithout = [], getObject = 200, publicIpShows } = behaviour;
  if (wire === "public_ip" && publicIpShows === "null") return false;
  return !unshown.includes(wire) && (getObject === 200 || !itemsWithout.includes(wire));
}

/**
 * Returns whether a key received the same failure twice (§4.7). The provider then uses another key, and only reports
 * what the first one may have created.
 */
function isStoredFailure(posts: readonly Exchange[]): boolean {
  const failures = posts.filter(({ status }) => status >= 500).map(({ text }) => text);
  return failures.some((text, at) => /"trace_id":"(?!0*"|tr-0")/.test(text) && text === failures[at - 1]);
}
