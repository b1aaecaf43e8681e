import * as pulumi from "@pulumi/pulumi";
import { typeTokens } from "../package";
import { beginConstruction, type DynamicResource, isOfType } from "./dynamic-resource";

/** Mode of a public address, or an IP address. `"auto"` is the only mode that the API specifies. */
export type PublicIp = "auto" | (string & Record<never, never>);

/** Status of an instance. `"running"` is the only status that the API specifies. */
export type InstanceStatus = "running" | (string & Record<never, never>);

/** Arguments of an {@link Instance}. */
export interface InstanceArgs {
  /** Id of the project that contains the instance, such as `project.id`. A change replaces the instance. */
  project: pulumi.Input<string>;
  /**
   * Name of the instance. A change updates the instance in place. If you set a name, a replacement deletes the old instance first.
   * @default a generated name that stays the same: the resource's name and seven characters, or the pattern in `pulumi:autonaming`
   */
  name?: pulumi.Input<string | undefined>;
  /** Image to create the instance from. A change replaces the instance. */
  image: pulumi.Input<string>;
  /** Flavor (size) of the instance. A change updates the instance in place. */
  flavor: pulumi.Input<string>;
  /** Network of the instance. A change updates the instance in place. */
  network: pulumi.Input<string>;
  /**
   * Mode of the public address, for example `"auto"`. The address itself is {@link Instance.ipAddress}. A change updates the instance in
   * place.
   * @default the service's default
   */
  publicIp?: pulumi.Input<PublicIp | undefined>;
  /**
   * SSH public keys in OpenSSH format. Changes to their order, comments or options are ignored. An empty list removes all keys. A change
   * updates the instance in place.
   * @default the keys are not managed
   */
  sshKeys?: pulumi.Input<pulumi.Input<string>[] | undefined>;
  /** Labels. Only the keys set here are managed. Other labels are preserved. A change updates the instance in place. @default none */
  labels?: pulumi.Input<Record<string, pulumi.Input<string>> | undefined>;
}

const resource: DynamicResource = {
  provider: "instance",
  type: typeTokens.instance,
  outputs: [
    ...["project", "name", "image", "flavor", "network", "publicIp", "sshKeys", "labels"],
    ...["status", "createdAt", "revision", "url", "ipAddress", "additionalProperties"],
  ],
  secretOutputs: ["additionalProperties", "__pending", "__words", "__applied"],
};

/**
 * A virtual machine in a project. Its `id` is the id that the service assigns.
 *
 * @example
 * ```ts
 * const project = new Project("shop", { region: "eu-1" });
 * const web = new Instance(
 *   "web",
 *   { project: project.id, image: "ubuntu-24.04", flavor: "small", network: "default", publicIp: "auto" },
 *   { customTimeouts: { create: "20m" } },
 * );
 * export const address = web.ipAddress;
 * ```
 */
export class Instance extends pulumi.CustomResource {
  /** Type token of instances in states and policies. */
  static readonly __pulumiType = resource.type;

  /** Id of the project that contains the instance. */
  declare readonly project: pulumi.Output<string>;
  /** Name of the instance, from the program or generated. */
  declare readonly name: pulumi.Output<string>;
  /** Image, as written in the program. */
  declare readonly image: pulumi.Output<string>;
  /** Flavor, as written in the program. */
  declare readonly flavor: pulumi.Output<string>;
  /** Network, as written in the program. */
  declare readonly network: pulumi.Output<string>;
  /** Mode of the public address, as written in the program. The address itself is in `ipAddress`. */
  declare readonly publicIp: pulumi.Output<PublicIp | undefined>;
  /** SSH public keys, as written in the program. */
  declare readonly sshKeys: pulumi.Output<string[] | undefined>;
  /** Labels that this program manages. */
  declare readonly labels: pulumi.Output<Record<string, string> | undefined>;
  /** Status that the service reported, for example `"running"`. */
  declare readonly status: pulumi.Output<InstanceStatus | undefined>;
  /** Time of the creation (ISO 8601, UTC). */
  declare readonly createdAt: pulumi.Output<string | undefined>;
  /** Revision of the instance. An update succeeds only if the instance still has this revision. */
  declare readonly revision: pulumi.Output<string | undefined>;
  /** URL of the instance in the API. */
  declare readonly url: pulumi.Output<string>;
  /** Public IP address, if the instance has one. With `publicIp: "auto"`, this is the assigned address. */
  declare readonly ipAddress: pulumi.Output<string | undefined>;
  /**
   * All other fields that the service returned, with the service's names. They are secret because they may contain an initial password.
   * A field that later replies omit keeps its last value. Updates don't contain these fields.
   */
  declare readonly additionalProperties: pulumi.Output<{ [name: string]: unknown } | undefined>;

  /** Reports whether an object is an `Instance`, even if it comes from another copy of this package. */
  static override isInstance(object: unknown): object is Instance {
    return isOfType(object, resource.type);
  }

  /**
   * Declares an instance. `pulumi preview` and `pulumi up` report invalid arguments before any request is sent.
   *
   * @param name name of the resource in the program, unique among its siblings
   * @param args arguments of the instance
   * @param opts resource options of Pulumi. `customTimeouts` limits each wait (30 minutes by default). `import` adopts the instance with
   * that id: differences from `args` are updated in place, or are an error if they would require a replacement
   * @throws Error if the program's folder doesn't resolve this package, or if `import` is not an id
   */
  constructor(name: string, args: InstanceArgs, opts: pulumi.CustomResourceOptions = {}) {
    const construction = beginConstruction(resource, name, opts);
    try {
      super(resource.type, name, { ...args }, construction.options);
    } catch (error) {
      throw construction.failed(error, Instance);
    }
    construction.succeeded(this);
  }

  /**
   * Reads an instance that this program doesn't manage. Every preview and `up` reads the instance again, but never changes or deletes it.
   * If the instance doesn't exist, the command fails with `not_found`.
   *
   * @param name name of the resource in the program, unique among its siblings
   * @param id id of the instance in the service
   * @param opts resource options of Pulumi, such as `provider`
   *
   * @example
   * ```ts
   * const bastion = Instance.get("bastion", "ins-5a2e");
   * ```
   */
  static get(name: string, id: pulumi.Input<pulumi.ID>, opts: pulumi.CustomResourceOptions = {}): Instance {
    return new Instance(name, {} as InstanceArgs, { ...opts, id });
  }
}
