/** Tells whether a trace id identifies the replies to one request, or is shared by all kinds of requests. */
export interface TraceIds {
  /**
   * Records that a reply carries a trace id.
   *
   * @param request what was asked: the idempotency key of a creation, or a token of its own for any other request
   * @returns whether it identifies the reply. An empty or constant id doesn't, nor one made from the key, nor one that another request
   * got, too.
   */
  identifies(traceId: string | undefined, request: string | symbol): boolean;
}

/** Ids remembered: those of an outage, in which many requests fail at once. */
const MAX_REMEMBERED_IDS = 4_096;
const SHARED = Symbol("shared");

export function createTraceIds(): TraceIds {
  const requests = new Map<string, string | symbol>();
  return {
    identifies(traceId = "", request) {
      const known = requests.get(traceId) ?? request;
      const owner = known === request ? request : SHARED;
      requests.delete(traceId);
      requests.set(traceId, owner);
      for (const oldest of requests.keys()) {
        if (requests.size <= MAX_REMEMBERED_IDS) break;
        requests.delete(oldest);
      }
      return owner === request && isReal(traceId) && !isDerivedFrom(request, traceId);
    },
  };
}

function isDerivedFrom(request: string | symbol, traceId: string): boolean {
  return typeof request === "string" && normalizedId(traceId).includes(normalizedId(request));
}

/** A UUID has the same meaning without its dashes and in upper case. */
function normalizedId(id: string): string {
  return id.replaceAll("-", "").toLowerCase();
}

/** Ids such as "", "none" and "0000-0000" say that there is none. */
function isReal(traceId: string): boolean {
  return /[1-9]/.test(traceId);
}
