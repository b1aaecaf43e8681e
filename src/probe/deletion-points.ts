import type { Behaviour } from "../emulator";
import { isMap, type WireFields } from "../model/resource-fields";
import { formatDuration } from "../polling/clock";
import type { Facts, Shown } from "./facts";
import {
  after,
  causeOf,
  isBare,
  isEnd,
  isPoll,
  momentOf,
  PAUSES_MS,
  statusCode,
  timeOf,
} from "./observations";
import { REFRESH_FIRST } from "./reading-points";
import { limited, type Points, parts, point, works } from "./report";

/** The points of the report that depend on a deletion or on the state at the end of the probe. */
export const deletionPoints = {
  deletion: point("Deletion", ({ deletion, created, canGet }) => {
    if (deletion === undefined) return undefined;
    const { exchange, reads } = deletion;
    const status = statusCode(exchange, [204, 202, 200, 405]);
    const behaviour: Partial<Behaviour> = {
      ...(status && { deleteObject: status }),
      ...(isBare(exchange) && { acceptedReply: "bare" }),
    };
    if (reads === undefined) {
      const isOffered = ![404, 405, 501].includes(exchange.reply.status);
      const consequence = isOffered
        ? "`pulumi destroy` fails with this error"
        : "`pulumi destroy` fails: set `retainOnDelete`, and delete objects with the service's own tools";
      return limited(`Rejected (${causeOf(exchange)})`, consequence, { behaviour });
    }
    const isLeft = (fields: WireFields | undefined): boolean =>
      fields !== undefined && fields.status !== created?.status && fields.status !== "deleting";
    const last = Math.max(reads.lists, reads.reads);
    const reply = `${exchange.reply.status}${isBare(exchange) ? ", without an operation" : ""}`;
    const [left] = reads.seen.flatMap(({ lists, reads }) => [lists, reads].filter(isLeft));
    if (left === undefined)
      return Number.isFinite(last)
        ? works(`${reply}; the instance disappears ${after(last)}`, behaviour)
        : limited(
            `${reply}; the instance remains visible for more than ${formatDuration(timeOf(PAUSES_MS.length))}`,
            "`pulumi destroy` waits until the instance disappears, and fails if it doesn't",
            { behaviour },
          );
    const isIn = (place: keyof Shown): boolean => reads.seen.some((one) => isLeft(one[place]));
    const softDeleteIn =
      !canGet || (isIn("lists") && isIn("reads")) ? "both" : isIn("lists") ? "lists" : "reads";
    const places = softDeleteIn === "both" ? "lists and reads" : softDeleteIn;
    const end = Number.isFinite(last) ? `, and disappears ${after(last)}` : "";
    return works(
      `${reply}; the instance remains visible in ${places} with the status ${left.status}${end}`,
      {
        ...behaviour,
        ...{ softDelete: String(left.status), softDeleteIn },
        ...(Number.isFinite(last) && { softDeleteMs: momentOf(last) }),
      },
      "The provider treats it as deleted",
    );
  }),
  idReuse: point("Reused ids", ({ deletion }) => {
    if (deletion?.isIdReused === undefined) return undefined;
    if (!deletion.isIdReused) return works("A new instance gets a new id", { idReuse: false });
    const consequence = `The service reuses ids: ${REFRESH_FIRST}`;
    return limited("A new instance gets the id of a deleted one", consequence, {
      behaviour: { idReuse: true },
    });
  }),
  failedOperations: point("Failed operations", ({ all, left }) => {
    if (left === undefined) return undefined;
    const states = new Map<string, WireFields>();
    for (const { request, reply, json } of all) {
      const id = isPoll(request.url) ? request.url.pathname.split("/").at(-1) : json.id;
      const isOperation = isPoll(request.url) || (request.method !== "GET" && reply.status === 202);
      if (isOperation && reply.status < 300 && id !== undefined) states.set(String(id), json);
    }
    const ends = [...states.values()];
    const isFailed = (json: WireFields): boolean =>
      "status" in json && isEnd(json) && (json.status !== "done" || isMap(json.error));
    const [sample, ...others] = ends.filter(isFailed);
    if (sample === undefined) return works(`No operation failed (${ends.length} observed)`);
    const failedStatus = String(sample.status);
    const failedHasError = isMap(sample.error);
    const isLeft = left.some(({ status }) => /err|fail/i.test(String(status)));
    const observation = parts(
      `${others.length + 1} of ${ends.length} failed with the status ${failedStatus}`,
      failedHasError ? "with a problem document" : "without a problem document",
      `a failed creation leaves ${isLeft ? "the instance" : "nothing"} behind`,
    );
    const failedCreation = isLeft ? "object" : "nothing";
    const failEvery = ends.findIndex(isFailed) + 1;
    return limited(observation, "Run `pulumi up` again after such failures", {
      behaviour: { failedStatus, failedHasError, failedCreation, failEvery },
    });
  }),
} satisfies Points<Facts>;
