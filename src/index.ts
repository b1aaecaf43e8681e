import * as pulumi from "@pulumi/pulumi";
import { nodeProblem } from "./package";
import { watchForUnfinished } from "./resources/dynamic-resource";

export {
  CloudInfraError,
  type ErrorCode,
  isCloudInfraError,
  type OperationSummary,
} from "./diagnostics/error";
export type { Problem, ProblemError } from "./diagnostics/problem";
export {
  type FunctionOptions,
  type FunctionOutputOptions,
  type GetInstancesArgs,
  type GetInstancesInstance,
  type GetInstancesOutputArgs,
  type GetInstancesResult,
  type GetProjectsProject,
  type GetProjectsResult,
  getInstances,
  getInstancesOutput,
  getProjects,
  getProjectsOutput,
} from "./resources/functions";
export { Instance, type InstanceArgs, type InstanceStatus, type PublicIp } from "./resources/instance";
export { Project, type ProjectArgs } from "./resources/project";
export { Provider, type ProviderArgs } from "./resources/provider";
export type { DependsOn } from "./resources/sdk";

const problem = nodeProblem();
if (problem !== undefined) throw new pulumi.RunError(problem);

// Importing the package starts this check, because a program without any resources may call no other function of the package.
watchForUnfinished();
