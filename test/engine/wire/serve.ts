import * as grpc from "@grpc/grpc-js";

/** Allows messages of any size, so that states with thousands of resources fit. */
export const channelOptions = { "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 };

export interface Served {
  readonly address: string;
  /** Closes open connections. */
  close(): void;
}

/** The ports of this process so far. The real engine is another process in each run, so a process and a port identify a run. */
const usedPorts = new Set<number>();

export async function serve(register: (server: grpc.Server) => void): Promise<Served> {
  const server = new grpc.Server(channelOptions);
  register(server);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  if (usedPorts.has(port)) {
    server.forceShutdown();
    return serve(register);
  }
  usedPorts.add(port);
  return { address: `127.0.0.1:${port}`, close: () => server.forceShutdown() };
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
