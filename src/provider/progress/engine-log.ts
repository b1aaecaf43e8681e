import { createRequire } from "node:module";
import { setTimeout } from "node:timers/promises";
import type { EngineClient } from "@pulumi/pulumi/proto/engine_grpc_pb";

/** Writes into the Info column of one resource's row. */
export interface StatusLog {
  /** Ends when the engine has the message, or after a moment; never fails. */
  write(message: string): Promise<void>;
}

/** The longest that a message may keep its writer waiting. */
const LOG_MS = 500;

/**
 * The engine's log service, whose address is the last argument of the provider process. Nothing said here can fail or hold up
 * the work: progress that can't be logged is dropped, and a warning then goes to the console.
 */
export class EngineLog {
  private client: EngineClient | undefined;

  constructor(private readonly address: string | undefined) {}

  statusLogFor(urn: string | undefined): StatusLog {
    return {
      write: async (message) => {
        if (urn !== undefined) await this.send({ severity: "INFO", urn, message, ephemeral: true });
      },
    };
  }

  /** Warns of something that is about no resource alone: it stands in the stack's row, and among the diagnostics at the end. */
  async warn(message: string): Promise<void> {
    const isTaken = await this.send({ severity: "WARNING", message });
    if (!isTaken) console.warn(message);
  }

  /** @returns whether the engine has the message */
  private async send({ severity, message, urn = "", ephemeral = false }: Message): Promise<boolean> {
    if (this.address === undefined) return false;
    try {
      // Loaded at the first message: a process that only checks and compares needs none of it.
      const engine: typeof import("@pulumi/pulumi/proto/engine_pb") = require("@pulumi/pulumi/proto/engine_pb");
      const request = new engine.LogRequest();
      request.setSeverity(engine.LogSeverity[severity]);
      request.setUrn(urn);
      request.setMessage(message);
      request.setEphemeral(ephemeral);
      this.client ??= connect(this.address);
      const client = this.client;
      const taken = new Promise<boolean>((resolve) =>
        client.log(request, (error) => resolve(error === null)),
      );
      return await Promise.race([taken, setTimeout(LOG_MS, false, { ref: false })]);
    } catch {
      this.client = undefined;
      return false;
    }
  }
}

interface Message {
  readonly severity: "INFO" | "WARNING";
  readonly message: string;
  readonly urn?: string;
  /** Shown while it lasts, and not among the diagnostics at the end. */
  readonly ephemeral?: boolean;
}

function connect(address: string): EngineClient {
  const engine: typeof import("@pulumi/pulumi/proto/engine_grpc_pb") = require("@pulumi/pulumi/proto/engine_grpc_pb");
  const grpc = createRequire(require.resolve("@pulumi/pulumi"))("@grpc/grpc-js");
  return new engine.EngineClient(address, grpc.credentials.createInsecure());
}
