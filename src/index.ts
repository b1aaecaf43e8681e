import { watchForUnsettled } from "./resources/unsettled";

export type { DependsOn } from "./resources/depends-on";
export {
  type FoundInstance,
  type FoundProject,
  type FunctionOptions,
  type FunctionOutputOptions,
  type GetInstancesArgs,
  type GetInstancesOutputArgs,
  getInstances,
  getInstancesOutput,
  getProjects,
  getProjectsOutput,
} from "./resources/functions";
export { Instance, type InstanceArgs } from "./resources/instance";
export { Project, type ProjectArgs } from "./resources/project";
export { Provider, type ProviderArgs } from "./resources/provider";

// Here, because a program that no longer declares any resource may call nothing else.
watchForUnsettled();
