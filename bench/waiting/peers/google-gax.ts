import * as gax from "google-gax";
import type { Look, Waiter } from "../waiter";

const NAME = "operations/op-1";
const INTERNAL = 13;

/**
 * What Google's clients wait with. Generated clients give their methods no settings for it, so that it takes those of
 * `createDefaultBackoffSettings`, which they also pass by name in their `check…Progress`: a first look at once, then pauses from 0.1 s
 * that grow by 1.3 up to 60 s. It knows no Retry-After.
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

/** As it comes out of the protocol's decoder, with the name of the `oneof` in `result`. */
function asOperation({ state }: Look): object {
  if (state === "running") return { name: NAME, done: false };
  if (state === "done") return { name: NAME, done: true, result: "response", response: { value: NAME } };
  return { name: NAME, done: true, result: "error", error: { code: INTERNAL, message: "it failed" } };
}

const decode = (value: unknown) => ({ value }) as never;
