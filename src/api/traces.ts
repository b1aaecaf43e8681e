/** Tells whether a trace id identifies the replies to one request, or is shared by all kinds of requests. */
export interface Traces {
  /**
   * Records that a reply carries a trace id.
   *
   * @param request what was asked: the idempotency key of a creation, or a token of its own for any other request
   * @returns the id, or `undefined` if it can't identify the reply: an empty or constant id, or one that another request got, too
   */
  identifying(traceId: string | undefined, request: string | symbol): string | undefined;
}

/** Ids remembered: those of an outage, in which many requests fail at once. */
const REMEMBERED = 4_096;
const SHARED = Symbol("shared");

export function createTraces(): Traces {
  const requests = new Map<string, string | symbol>();
  return {
    identifying(traceId = "", request) {
      const known = requests.get(traceId) ?? request;
      const owner = known === request ? request : SHARED;
      requests.delete(traceId);
      requests.set(traceId, owner);
      for (const oldest of requests.keys()) {
        if (requests.size <= REMEMBERED) break;
        requests.delete(oldest);
      }
      return owner === request && isReal(traceId) && traceId !== request ? traceId : undefined;
    },
  };
}

/** Ids such as "", "none" and "0000-0000" say that there is none. */
function isReal(traceId: string): boolean {
  return /[1-9]/.test(traceId);
}
