import { createRequire } from "node:module";
import { setTimeout } from "node:timers/promises";
import type { EngineClient } from "@pulumi/pulumi/proto/engine_grpc_pb";

/** Writes status messages for a resource, which Pulumi displays in the Info column. */
export interface StatusLog {
  /** Resolves when the engine has received the message, or after 500 ms. Never rejects. */
  write(message: string): Promise<void>;
}

/** The maximum wait until the engine has received a message, in milliseconds. */
const LOG_MS = 500;

/**
 * Sends messages to the engine, whose address is the last argument of the provider process. If a status message can't be sent, the message
 * is dropped. Warnings are then printed to the console.
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

  /** Logs a warning for the stack. Pulumi displays the warning among the diagnostics at the end. */
  async warn(message: string): Promise<void> {
    const isTaken = await this.send({ severity: "WARNING", message });
    if (!isTaken) console.warn(message);
  }

  /** @returns whether the engine accepted the message */
  private async send({ severity, message, urn = "", ephemeral = false }: Message): Promise<boolean> {
    if (this.address === undefined) return false;
    try {
      // The module is loaded only for the first message. Processes that only check and diff don't need it.
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
  /** Whether the message is a status message, which Pulumi doesn't display among the diagnostics. */
  readonly ephemeral?: boolean;
}

function connect(address: string): EngineClient {
  const engine: typeof import("@pulumi/pulumi/proto/engine_grpc_pb") = require("@pulumi/pulumi/proto/engine_grpc_pb");
  const grpc = createRequire(require.resolve("@pulumi/pulumi"))("@grpc/grpc-js");
  return new engine.EngineClient(address, grpc.credentials.createInsecure());
}
