import * as pulumi from "@pulumi/pulumi";
import { afterConstruction, beginConstruction, type DynamicResource, isOfType } from "./dynamic-resource";

/** Arguments of a {@link Project}. */
export interface ProjectArgs {
  /**
   * Name of the project. A change replaces the project.
   * @default a generated name, which is kept: the resource's name and seven characters, or what `pulumi:autonaming` says
   */
  name?: pulumi.Input<string | undefined>;
  /** Region of the project, as the service names it. A change replaces the project. */
  region: pulumi.Input<string>;
}

const resource: DynamicResource = {
  provider: "project",
  type: "pulumi-nodejs:dynamic/cloudinfra:Project",
  outputs: ["name", "region", "description", "createdAt"],
  secretOutputs: ["__pending", "__words", "__applied"],
};

/** A project of the Cloud Infrastructure Service. Its `id` is the id that the service assigns. */
export class Project extends pulumi.CustomResource {
  /** The type of projects in states and policies. */
  static readonly __pulumiType = resource.type;

  /** Name of the project, as given or generated. */
  declare readonly name: pulumi.Output<string>;
  /** Region of the project, as given. */
  declare readonly region: pulumi.Output<string>;
  /** Description that the service returned, or `undefined` if it returned none. */
  declare readonly description: pulumi.Output<string | undefined>;
  /** When the service created the project (ISO 8601, UTC). */
  declare readonly createdAt: pulumi.Output<string | undefined>;

  /** Whether an object is a project of this package, also if another copy of the package has created it. */
  static override isInstance(object: unknown): object is Project {
    return isOfType(object, resource.type);
  }

  /**
   * @param name the resource's name in the program, unique among its siblings
   * @param args the project's arguments; a wrong one is rejected before any request
   * @param opts Pulumi's options. `customTimeouts` limits the waits. `import` adopts the object with that id after comparing it with
   * `args`: it updates what can be changed in place, and other differences are an error
   * @throws Error if the program's folder doesn't resolve this package, or if `import` is not an id
   */
  constructor(name: string, args: ProjectArgs, opts: pulumi.CustomResourceOptions = {}) {
    const construction = beginConstruction(resource, name, opts);
    try {
      super(resource.type, name, { ...args }, construction.options);
    } catch (error) {
      throw construction.failed(error, Project);
    } finally {
      construction.end();
    }
    afterConstruction(this, construction);
  }

  /**
   * Reads a project that this program does not manage. Each `up` and preview reads it again, and nothing changes or deletes it. It is an
   * error if the service doesn't return the project.
   *
   * @param name the resource's name in the program, unique among its siblings
   * @param id the service's id
   * @param opts Pulumi's options, such as `provider`
   */
  static get(name: string, id: pulumi.Input<pulumi.ID>, opts: pulumi.CustomResourceOptions = {}): Project {
    return new Project(name, {} as ProjectArgs, { ...opts, id });
  }
}
