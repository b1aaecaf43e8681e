import { createRequire } from "node:module";
import { setTimeout } from "node:timers/promises";
import type { EngineClient } from "@pulumi/pulumi/proto/engine_grpc_pb";

/** Writes into the Info column of one resource's row. */
export interface RowLog {
  /** Ends when the engine has the message, or after a moment; never fails. */
  write(message: string): Promise<void>;
}

/** The longest that a message may keep its writer waiting. */
const LOG_MS = 500;

/**
 * The engine's log service, whose address is the last argument of the provider process. What can't be logged is
 * dropped: progress must never be able to fail or hold up the work.
 */
export class EngineLog {
  private client: EngineClient | undefined;

  constructor(private readonly address: string | undefined) {}

  row(urn: string | undefined): RowLog {
    return { write: (message) => this.write(urn, message) };
  }

  private async write(urn: string | undefined, message: string): Promise<void> {
    if (urn === undefined || this.address === undefined) return;
    try {
      // Loaded at the first message: a process that only checks and compares needs none of it.
      const engine: typeof import("@pulumi/pulumi/proto/engine_pb") = require("@pulumi/pulumi/proto/engine_pb");
      const request = new engine.LogRequest();
      request.setSeverity(engine.LogSeverity.INFO);
      request.setUrn(urn);
      request.setMessage(message);
      request.setEphemeral(true);
      this.client ??= connect(this.address);
      const client = this.client;
      const taken = new Promise<void>((resolve) => client.log(request, () => resolve()));
      await Promise.race([taken, setTimeout(LOG_MS, undefined, { ref: false })]);
    } catch {
      this.client = undefined;
    }
  }
}

function connect(address: string): EngineClient {
  const engine: typeof import("@pulumi/pulumi/proto/engine_grpc_pb") = require("@pulumi/pulumi/proto/engine_grpc_pb");
  const grpc = createRequire(require.resolve("@pulumi/pulumi"))("@grpc/grpc-js");
  return new engine.EngineClient(address, grpc.credentials.createInsecure());
}
