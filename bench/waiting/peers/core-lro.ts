import { createHttpPoller } from "@azure/core-lro";
import type { Look, Waiter } from "../waiter";

const STATUS = { running: "Running", done: "Succeeded", failed: "Failed" } as const;

/**
 * The poller of Azure's clients with its defaults. It polls at once, and then every two seconds or as Retry-After
 * requests. The benchmark uses `operation-location`, as generated clients do. Without a `location`, the poller doesn't
 * read the result at the end, and neither do the other waiters.
 */
export const coreLro: Waiter = {
  name: "@azure/core-lro",
  adaptive: true,
  heeds: ["Retry-After"],
  wait(_accepted, look) {
    const poller = createHttpPoller({
      sendInitialRequest: async () =>
        response("POST", 202, { status: "Running" }, { "operation-location": "/operations/op-1" }),
      sendPollRequest: async () => {
        const seen = await look();
        return response("GET", 200, { status: STATUS[seen.state] }, retryAfter(seen));
      },
    });
    return poller.pollUntilDone();
  },
};

function response(method: string, statusCode: number, body: object, headers: Record<string, string>) {
  const request = { method, url: method === "POST" ? "/instances" : "/operations/op-1" };
  return { flatResponse: body, rawResponse: { statusCode, request, headers, body } };
}

function retryAfter({ retryAfter }: Look): Record<string, string> {
  return retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
}
