import { watchForUnsettled } from "./resources/unsettled";

export type { DependsOn } from "./resources/depends-on";
export type { GetOptions } from "./resources/dynamic-resource";
export {
  type FoundInstance,
  type FoundProject,
  type GetInstancesArgs,
  type GetInstancesOutputArgs,
  getInstances,
  getInstancesOutput,
  getProjects,
  getProjectsOutput,
  type LookupOptions,
  type ProfileArgs,
} from "./resources/functions";
export { Instance, type InstanceArgs } from "./resources/instance";
export { Project, type ProjectArgs } from "./resources/project";

// Here, because a program that no longer declares any resource may call nothing else.
watchForUnsettled();
