import * as grpc from "@grpc/grpc-js";
import type * as provider from "@pulumi/pulumi/proto/provider_pb";
import { type IResourceMonitorServer, ResourceMonitorService } from "@pulumi/pulumi/proto/resource_grpc_pb";
import * as resource from "@pulumi/pulumi/proto/resource_pb";
import { fromStruct } from "../provider";
import type { Resource } from "../state/resource";
import type { Registered } from "../steps/step";
import { encodeMap, forProgram, type Values } from "../values/values";
import { type Goal, goal, type ReadGoal, readGoal } from "./goal";
import { Empty, Struct } from "./protobuf";
import { notReproduced, Status, unary } from "./serve";

/** Handles the program's requests. */
export interface Registrar {
  readonly info: {
    readonly organization: string;
    readonly project: string;
    readonly stack: string;
    readonly dryRun: boolean;
    readonly parallel: number;
    readonly config: Readonly<Record<string, string>>;
    readonly secretKeys: readonly string[];
  };
  register(goal: Goal): Promise<Registered>;
  read(goal: ReadGoal): Promise<Registered>;
  registerOutputs(urn: string, outputs: Values): Promise<void>;
  find(urn: string): Resource | undefined;
  /** Resolves when the remaining work is done, after the program has registered everything. */
  programIsComplete(): Promise<void>;
}

const { ResourceMonitorFeature: feature, Result } = resource;

const features: ReadonlyMap<string, resource.ResourceMonitorFeature> = new Map([
  ["secrets", feature.RESOURCE_MONITOR_FEATURE_SECRETS],
  ["resourceReferences", feature.RESOURCE_MONITOR_FEATURE_RESOURCE_REFERENCES],
  ["outputValues", feature.RESOURCE_MONITOR_FEATURE_OUTPUT_VALUES],
  ["aliasSpecs", feature.RESOURCE_MONITOR_FEATURE_ALIAS_SPECS],
  ["deletedWith", feature.RESOURCE_MONITOR_FEATURE_DELETED_WITH],
  ["replaceWith", feature.RESOURCE_MONITOR_FEATURE_REPLACE_WITH],
]);

/** Serves the running program. */
export function addMonitorService(server: grpc.Server, registrar: Registrar): void {
  const service: IResourceMonitorServer = {
    getDeploymentInfo: unary(() => deploymentInfo(registrar.info)),
    supportsFeature: unary((request: resource.SupportsFeatureRequest) => {
      const response = new resource.SupportsFeatureResponse();
      response.setHassupport(features.has(request.getId()));
      return response;
    }),
    registerResource: unary(async (request: resource.RegisterResourceRequest) => {
      if (request.getRemote()) notReproduced("remote components")();
      if (request.getTransformsList().length > 0) notReproduced("transforms")();
      const registered = await registrar.register(goal(request));
      if (registered.result !== "success" && !request.getSupportsresultreporting()) {
        throw new Status(grpc.status.INTERNAL, "resource registration failed");
      }
      return registeredResponse(registered);
    }),
    registerResourceOutputs: unary(async (request: resource.RegisterResourceOutputsRequest) => {
      await registrar.registerOutputs(request.getUrn(), fromStruct(request.getOutputs()));
      return new Empty();
    }),
    readResource: unary(async (request: resource.ReadResourceRequest) => {
      const { resource: read } = await registrar.read(readGoal(request));
      const response = new resource.ReadResourceResponse();
      response.setUrn(read.urn);
      response.setProperties(toStruct(read.outputs));
      return response;
    }),
    invoke: unary((request: resource.ResourceInvokeRequest) => invoke(registrar, request)),
    signalAndWaitForShutdown: unary(async () => {
      await registrar.programIsComplete();
      return new Empty();
    }),
    call: unary((): provider.CallResponse => notReproduced("methods of remote components")()),
    existsResource: unary(notReproduced("ExistsResource")),
    registerStackTransform: unary(notReproduced("transforms")),
    registerStackInvokeTransform: unary(notReproduced("transforms")),
    registerResourceHook: unary(notReproduced("resource hooks")),
    registerErrorHook: unary(notReproduced("error hooks")),
    registerPackage: unary(notReproduced("packages")),
  };
  server.addService(ResourceMonitorService, service);
}

function deploymentInfo(info: Registrar["info"]): resource.DeploymentInfo {
  const response = new resource.DeploymentInfo();
  response.setProject(info.project);
  response.setStack(info.stack);
  response.setOrganization(info.organization);
  for (const [key, value] of Object.entries(info.config)) response.getConfigMap().set(key, value);
  response.setConfigsecretkeysList([...info.secretKeys]);
  response.setDryrun(info.dryRun);
  response.setParallel(info.parallel);
  response.setSupportedfeaturesList([...features.values()]);
  return response;
}

function registeredResponse({
  resource: made,
  result,
  unknown,
}: Registered): resource.RegisterResourceResponse {
  const response = new resource.RegisterResourceResponse();
  response.setUrn(made.urn);
  response.setId(made.id);
  // Old outputs of a component may name resources that aren't registered yet. The program registers new outputs.
  response.setObject(toStruct(made.custom ? made.outputs : {}));
  // This version of the SDK has no result for skipped resources.
  response.setResult({ success: Result.SUCCESS, failed: Result.FAIL, skipped: Result.FAIL }[result]);
  response.setUnknown(unknown);
  return response;
}

/** Programs use this call to read other resources of the stack. Provider functions aren't supported. */
function invoke(
  registrar: Registrar,
  request: resource.ResourceInvokeRequest,
): resource.ResourceInvokeResponse {
  if (request.getTok() !== "pulumi:pulumi:getResource") notReproduced(`the function ${request.getTok()}`)();
  const urn = String(request.getArgs()?.toJavaScript().urn);
  const found = registrar.find(urn);
  if (!found) throw new Status(grpc.status.UNKNOWN, `resource ${urn} is not known to this program`);
  const response = new resource.ResourceInvokeResponse();
  response.setReturn(toStruct({ urn, id: found.id, state: found.outputs }));
  return response;
}

function toStruct(values: Values): Struct {
  return Struct.fromJavaScript(encodeMap(values, forProgram));
}
