import { createHttpPoller } from "@azure/core-lro";
import type { Look, Waiter } from "../waiter";

const STATUS = { running: "Running", done: "Succeeded", failed: "Failed" } as const;

/**
 * What Azure's clients wait with, with its defaults: a first look at once, then one every two seconds, or as Retry-After asks. Driven
 * as generated clients do, by `operation-location`; without a `location` it does not read the result in the end, nor do the others.
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
