import * as pulumi from "@pulumi/pulumi";
import {
  afterConstruction,
  beginConstruction,
  type DynamicResource,
  type GetOptions,
  lookedUp,
} from "./dynamic-resource";

/** Arguments of a {@link Project} (§4.2). */
export interface ProjectArgs {
  /**
   * Name of the project. A change replaces the project.
   * @default the resource's name and seven characters, made up once and kept
   */
  name?: pulumi.Input<string>;
  /** Region of the project, as the service names it. A change replaces the project. */
  region: pulumi.Input<string>;
  /**
   * Profile of settings (`cloudinfra:profiles`) that leads to the account or region of the project. A plain text, known at once.
   * Another name for the same place changes nothing at the service; another place is an error.
   * @default the settings without a profile
   */
  profile?: string;
}

const resource: DynamicResource = {
  provider: "project",
  type: "pulumi-nodejs:dynamic/cloudinfra:Project",
  outputs: ["profile", "name", "region", "description", "createdAt"],
  secretOutputs: ["__pending", "__words"],
};

/** A project of the Cloud Infrastructure Service (§2.1). Its `id` is the service's. */
export class Project extends pulumi.CustomResource {
  /** Name of the project, as given or made up. */
  declare readonly name: pulumi.Output<string>;
  /** Region of the project, as given. */
  declare readonly region: pulumi.Output<string>;
  /** The service's description; `undefined` where it gave none. */
  declare readonly description: pulumi.Output<string | undefined>;
  /** When the service created the project (ISO 8601, UTC). */
  declare readonly createdAt: pulumi.Output<string | undefined>;

  /** Profile of settings, as given. */
  declare readonly profile: pulumi.Output<string | undefined>;

  /**
   * @param name the resource's name in the program, unique among its siblings
   * @param args the project's arguments; a wrong one is refused before anything is made
   * @param opts Pulumi's options; `customTimeouts` bound the waits, `import` takes over the object of that
   * id after comparing it with `args`: what can be changed in place is, other differences are an error
   * @throws Error in words, where the program's folder can't resolve this package, or `import` is no id
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
    afterConstruction(this, resource, construction);
  }

  /**
   * Looks at a project that this program does not manage: it is read anew by each `up` and preview, and never changed or deleted. An
   * error where the service does not show it.
   *
   * @param name the resource's name in the program, unique among its siblings
   * @param id the service's id
   * @param opts Pulumi's options, and the profile that leads to the project
   */
  static get(name: string, id: pulumi.Input<pulumi.ID>, opts: GetOptions = {}): Project {
    return new Project(name, ...lookedUp<ProjectArgs>(id, opts));
  }
}
