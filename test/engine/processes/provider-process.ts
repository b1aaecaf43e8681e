import path from "node:path";
import * as grpc from "@grpc/grpc-js";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb";
import { channelOptions } from "../wire/serve";
import { Child, describeExit } from "./child";
import type { Project } from "./project";

const startTimeoutMs = 60_000;

export interface ProviderProcessOptions {
  readonly project: Project;
  readonly projectName: string;
  readonly engineAddress: string;
  readonly env: Readonly<Record<string, string>>;
  readonly survivesEngine: boolean;
  /** Called with each line that the process prints. */
  onLine(stream: "stdout" | "stderr", line: string): void;
}

export type Done<Response> = (error: grpc.ServiceError | null, response: Response) => void;
export type Send<Response> = (client: ResourceProviderClient, done: Done<Response>) => grpc.ClientUnaryCall;

/** The SDK's own process for dynamic resources. */
export class ProviderProcess {
  private constructor(
    readonly child: Child,
    readonly client: ResourceProviderClient,
  ) {}

  static async start(options: ProviderProcessOptions): Promise<ProviderProcess> {
    let announce: (port: number) => void = () => undefined;
    const port = new Promise<number>((resolve) => {
      announce = resolve;
    });
    let announced = false;
    const child = new Child({
      script: path.join(options.project.sdk, "cmd/dynamic-provider/index.js"),
      args: [options.engineAddress],
      cwd: options.project.cwd,
      env: {
        PULUMI_CONFIG: "{}",
        PULUMI_PROJECT: options.projectName,
        PULUMI_NODEJS_PROJECT: options.projectName,
        ...options.project.runtimeOptions,
        ...options.env,
      },
      survivesEngine: options.survivesEngine,
      onLine: (stream, line) => {
        if (announced || stream === "stderr") return options.onLine(stream, line);
        announced = true;
        announce(Number(line));
      },
    });
    let timer: NodeJS.Timeout | undefined;
    const problem = new Promise<never>((_, reject) => {
      child.exited.then(
        (exit) => reject(new Error(`the provider process ${describeExit(exit)} before it was ready`)),
        reject,
      );
      timer = setTimeout(
        () => reject(new Error(`the provider process was not ready after ${startTimeoutMs} ms`)),
        startTimeoutMs,
      );
    });
    try {
      const address = `127.0.0.1:${await Promise.race([port, problem])}`;
      return new ProviderProcess(
        child,
        new ResourceProviderClient(address, grpc.credentials.createInsecure(), channelOptions),
      );
    } catch (error) {
      await child.kill();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Makes one call. Rejects if the process ends before the reply. */
  async call<Response>(method: string, send: Send<Response>): Promise<Response> {
    try {
      return await new Promise<Response>((resolve, reject) => {
        send(this.client, (error, response) => (error ? reject(error) : resolve(response)));
      });
    } catch (error) {
      // A broken connection has no details, so report how the process ended.
      if (isServiceError(error) && error.code === grpc.status.UNAVAILABLE) {
        const exit = await this.child.exited;
        throw new Error(`the provider process ${describeExit(exit)} during ${method}`, { cause: error });
      }
      throw error;
    }
  }

  /** Ends the process as the CLI does: it has a few seconds to end by itself. */
  async close(): Promise<void> {
    this.client.close();
    await this.child.end();
  }
}

export function isServiceError(error: unknown): error is grpc.ServiceError {
  return error instanceof Error && "code" in error && "details" in error && "metadata" in error;
}
