export { Instance, type InstanceArgs } from "./resources/instance";
export { Project, type ProjectArgs } from "./resources/project";
