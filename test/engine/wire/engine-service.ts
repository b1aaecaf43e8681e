import type * as grpc from "@grpc/grpc-js";
import { EngineService, type IEngineServer } from "@pulumi/pulumi/proto/engine_grpc_pb";
import * as engine from "@pulumi/pulumi/proto/engine_pb";
import type { Diagnostic } from "../../harness/engine";
import { Empty } from "./protobuf";
import { notReproduced, unary } from "./serve";

const severities: readonly Diagnostic["severity"][] = ["debug", "info", "warning", "error"];

/** Serves the messages of programs and providers, and the URN of the root resource. */
export function addEngineService(server: grpc.Server, log: (diagnostic: Diagnostic) => void): void {
  let root = "";
  const service: IEngineServer = {
    log: unary((request: engine.LogRequest) => {
      log({
        severity: severities[request.getSeverity()] ?? "info",
        message: request.getMessage(),
        ...(request.getUrn() === "" ? {} : { urn: request.getUrn() }),
        ...(request.getEphemeral() ? { ephemeral: true } : {}),
      });
      return new Empty();
    }),
    getRootResource: unary(() => {
      const response = new engine.GetRootResourceResponse();
      response.setUrn(root);
      return response;
    }),
    setRootResource: unary((request: engine.SetRootResourceRequest) => {
      root = request.getUrn();
      return new engine.SetRootResourceResponse();
    }),
    startDebugging: unary(notReproduced("debugging")),
    // Any requested version gets the fake engine.
    requirePulumiVersion: unary(() => new engine.RequirePulumiVersionResponse()),
  };
  server.addService(EngineService, service);
}
