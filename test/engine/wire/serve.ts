import { randomInt } from "node:crypto";
import * as grpc from "@grpc/grpc-js";

/** Allows messages of any size, so that states with thousands of resources fit. */
export const channelOptions = { "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 };

export interface Served {
  readonly address: string;
  /** Closes open connections. */
  close(): void;
}

/**
 * Returns a random address of this machine, so that no two runs have the same address. A provider process identifies its run by the address
 * and by its two nearest ancestors. With the real engine, both ancestors belong to the run, but here, the second one starts many runs.
 */
const loopbackAddress = (): string =>
  process.platform === "linux" ? `127.${[1, 2, 3].map(() => randomInt(1, 255)).join(".")}` : "127.0.0.1";

/** The addresses of this process so far. */
const usedAddresses = new Set<string>();

export async function serve(register: (server: grpc.Server) => void): Promise<Served> {
  const server = new grpc.Server(channelOptions);
  register(server);
  const host = loopbackAddress();
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:0`, grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  const address = `${host}:${port}`;
  if (usedAddresses.has(address)) {
    server.forceShutdown();
    return serve(register);
  }
  usedAddresses.add(address);
  return { address, close: () => server.forceShutdown() };
}

/** The error reply to a call. */
export class Status extends Error {
  constructor(
    readonly code: grpc.status,
    message: string,
  ) {
    super(message);
  }
}

/** Turns a plain function of the request into a gRPC handler. */
export function unary<Request, Response>(
  handle: (request: Request) => Promise<Response> | Response,
): grpc.handleUnaryCall<Request, Response> {
  return (call, callback) => {
    Promise.resolve()
      .then(() => handle(call.request))
      .then(
        (response) => callback(null, response),
        (error: unknown) => {
          const message = error instanceof Error ? error.message : String(error);
          const code = error instanceof Status ? error.code : grpc.status.UNKNOWN;
          callback({ code, details: message }, null);
        },
      );
  };
}

export function notReproduced(what: string): () => never {
  return () => {
    throw new Status(grpc.status.UNIMPLEMENTED, `the fake engine does not support ${what}`);
  };
}
