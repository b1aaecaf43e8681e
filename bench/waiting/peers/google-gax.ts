import * as gax from "google-gax";
import type { Look, Waiter } from "../waiter";

const NAME = "operations/op-1";
const INTERNAL = 13;

/**
 * The poller of Google's clients. Generated clients pass no settings to their methods, so it uses
 * `createDefaultBackoffSettings`, which they also pass in their `check…Progress`. It polls at once, and then after
 * pauses from 0.1 s that grow by 1.3 up to 60 s. It ignores Retry-After.
 */
export const googleGax: Waiter = {
  name: "google-gax",
  adaptive: true,
  heeds: [],
  async wait(accepted, look) {
    const operations = { getOperationInternal: async () => [asOperation(await look())] };
    const descriptor = new gax.LongrunningDescriptor(
      operations as unknown as gax.OperationsClient,
      decode,
      decode,
    );
    const call = gax.createApiCall(
      Promise.resolve((_request, _metadata, _options, callback) => {
        callback?.(null, asOperation(accepted));
        return { cancel() {} } as gax.CancellableStream;
      }),
      new gax.CallSettings(),
      descriptor,
    );
    const [operation] = (await call({})) as unknown as [gax.Operation];
    return operation.promise();
  },
};

/** Returns the operation as the protocol's decoder does, with the name of the `oneof` in `result`. */
function asOperation({ state }: Look): object {
  if (state === "running") return { name: NAME, done: false };
  if (state === "done") return { name: NAME, done: true, result: "response", response: { value: NAME } };
  return { name: NAME, done: true, result: "error", error: { code: INTERNAL, message: "it failed" } };
}

const decode = (value: unknown) => ({ value }) as never;
