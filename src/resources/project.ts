import * as pulumi from "@pulumi/pulumi";
import { typeTokens } from "../package";
import { beginConstruction, type DynamicResource, isOfType } from "./dynamic-resource";

/** Arguments of a {@link Project}. */
export interface ProjectArgs {
  /**
   * Name of the project. A change replaces the project.
   * @default a generated name that stays the same: the resource's name and seven characters, or the pattern in `pulumi:autonaming`
   */
  name?: pulumi.Input<string | undefined>;
  /** Region of the project, for example `"eu-1"`. A change replaces the project. */
  region: pulumi.Input<string>;
}

const resource: DynamicResource = {
  provider: "project",
  type: typeTokens.project,
  outputs: ["name", "region", "description", "createdAt"],
  secretOutputs: ["__pending", "__words", "__applied"],
};

/**
 * A project, which contains instances. Its `id` is the id that the service assigns.
 *
 * @example
 * ```ts
 * const project = new Project("shop", { region: "eu-1" });
 * export const projectId = project.id;
 * ```
 */
export class Project extends pulumi.CustomResource {
  /** Type token of projects in states and policies. */
  static readonly __pulumiType = resource.type;

  /** Name of the project, from the program or generated. */
  declare readonly name: pulumi.Output<string>;
  /** Region of the project, as written in the program. */
  declare readonly region: pulumi.Output<string>;
  /** Description that the service last returned, if any. If later replies omit it, it keeps its value. */
  declare readonly description: pulumi.Output<string | undefined>;
  /** Time of the creation (ISO 8601, UTC). */
  declare readonly createdAt: pulumi.Output<string | undefined>;

  /** Reports whether an object is a `Project`, even if it comes from another copy of this package. */
  static override isInstance(object: unknown): object is Project {
    return isOfType(object, resource.type);
  }

  /**
   * Declares a project. `pulumi preview` and `pulumi up` report invalid arguments before any request is sent.
   *
   * @param name name of the resource in the program, unique among its siblings
   * @param args arguments of the project
   * @param opts resource options of Pulumi. `customTimeouts` limits each wait (30 minutes by default). `import` adopts the project with that
   * id, and fails if it differs from `args`
   * @throws Error if the program's folder doesn't resolve this package, or if `import` is not an id
   */
  constructor(name: string, args: ProjectArgs, opts: pulumi.CustomResourceOptions = {}) {
    const construction = beginConstruction(resource, name, opts);
    try {
      super(resource.type, name, { ...args }, construction.options);
    } catch (error) {
      throw construction.failed(error, Project);
    }
    construction.succeeded(this);
  }

  /**
   * Reads a project that this program doesn't manage. Every preview and `up` reads the project again, but never changes or deletes it. If
   * the project doesn't exist, the command fails with `not_found`.
   *
   * @param name name of the resource in the program, unique among its siblings
   * @param id id of the project in the service
   * @param opts resource options of Pulumi, such as `provider`
   *
   * @example
   * ```ts
   * const shared = Project.get("shared", "prj-1");
   * ```
   */
  static get(name: string, id: pulumi.Input<pulumi.ID>, opts: pulumi.CustomResourceOptions = {}): Project {
    return new Project(name, {} as ProjectArgs, { ...opts, id });
  }
}
