import * as pulumi from "@pulumi/pulumi";
import { afterConstruction, beginConstruction, type DynamicResource, isOfType } from "./dynamic-resource";

/** Mode of a public address, or an address. The API names one value. */
export type PublicIp = "auto" | (string & Record<never, never>);

/** Status of an instance. The API names one value. */
export type InstanceStatus = "running" | (string & Record<never, never>);

/** Arguments of an {@link Instance}. */
export interface InstanceArgs {
  /** Id of the project that contains the instance: `project.id`. A change replaces the instance. */
  project: pulumi.Input<string>;
  /**
   * Name of the instance. Updated in place. If it is given, a replacement deletes the old instance first.
   * @default a generated name, which is kept: the resource's name and seven characters, or what `pulumi:autonaming` says
   */
  name?: pulumi.Input<string | undefined>;
  /** Image to create the instance from. A change replaces the instance. */
  image: pulumi.Input<string>;
  /** Flavor (size) of the instance. Updated in place. */
  flavor: pulumi.Input<string>;
  /** Network of the instance. Updated in place. */
  network: pulumi.Input<string>;
  /**
   * Mode of the public address, for example `"auto"`. The address itself is {@link Instance.ipAddress}. Updated in place.
   * @default the service's default
   */
  publicIp?: pulumi.Input<PublicIp | undefined>;
  /**
   * SSH public keys, one line each. Their order and comments don't matter. An empty list removes all keys. Updated in place.
   * @default the instance keeps the keys that others add
   */
  sshKeys?: pulumi.Input<pulumi.Input<string>[] | undefined>;
  /** Labels. Only those set here are managed, and others are kept. Updated in place. */
  labels?: pulumi.Input<Record<string, pulumi.Input<string>> | undefined>;
}

const resource: DynamicResource = {
  provider: "instance",
  type: "pulumi-nodejs:dynamic/cloudinfra:Instance",
  outputs: [
    ...["project", "name", "image", "flavor", "network", "publicIp", "sshKeys", "labels"],
    ...["status", "createdAt", "revision", "url", "ipAddress", "additionalProperties"],
  ],
  secretOutputs: ["additionalProperties", "__pending", "__words", "__applied"],
};

/** A virtual machine instance in a project. Its `id` is the id that the service assigns. */
export class Instance extends pulumi.CustomResource {
  /** The type of instances in states and policies. */
  static readonly __pulumiType = resource.type;

  /** Id of the project that contains the instance. */
  declare readonly project: pulumi.Output<string>;
  /** Name of the instance, as given or generated. */
  declare readonly name: pulumi.Output<string>;
  /** Image, as given. */
  declare readonly image: pulumi.Output<string>;
  /** Flavor, as given. */
  declare readonly flavor: pulumi.Output<string>;
  /** Network, as given. */
  declare readonly network: pulumi.Output<string>;
  /** Public address mode, as given: `"auto"` stays `"auto"`. */
  declare readonly publicIp: pulumi.Output<PublicIp | undefined>;
  /** SSH public keys, as given. */
  declare readonly sshKeys: pulumi.Output<string[] | undefined>;
  /** The labels that this program manages. */
  declare readonly labels: pulumi.Output<Record<string, string> | undefined>;
  /** Status at the service, for example `"running"`. */
  declare readonly status: pulumi.Output<InstanceStatus | undefined>;
  /** When the service created the instance (ISO 8601, UTC). */
  declare readonly createdAt: pulumi.Output<string | undefined>;
  /** Revision of the instance. Every update requires that the service still has this revision. */
  declare readonly revision: pulumi.Output<string | undefined>;
  /** Address of the instance at the service. */
  declare readonly url: pulumi.Output<string>;
  /** Public IP address of the instance, if it has one: the address that `publicIp: "auto"` resulted in. */
  declare readonly ipAddress: pulumi.Output<string | undefined>;
  /** All other fields that the service returned, with the service's names. Secret, because they may contain an initial password. */
  declare readonly additionalProperties: pulumi.Output<Record<string, unknown> | undefined>;

  /** Whether an object is an instance of this package, also if another copy of the package has created it. */
  static override isInstance(object: unknown): object is Instance {
    return isOfType(object, resource.type);
  }

  /**
   * @param name the resource's name in the program, unique among its siblings
   * @param args the instance's arguments; a wrong one is rejected before any request
   * @param opts Pulumi's options. `customTimeouts` limits the waits. `import` adopts the object with that id after comparing it with
   * `args`: it updates what can be changed in place, and other differences are an error
   * @throws Error if the program's folder doesn't resolve this package, or if `import` is not an id
   */
  constructor(name: string, args: InstanceArgs, opts: pulumi.CustomResourceOptions = {}) {
    const construction = beginConstruction(resource, name, opts);
    try {
      super(resource.type, name, { ...args }, construction.options);
    } catch (error) {
      throw construction.failed(error, Instance);
    } finally {
      construction.end();
    }
    afterConstruction(this, construction);
  }

  /**
   * Reads an instance that this program does not manage. Each `up` and preview reads it again, and nothing changes or deletes it. It is an
   * error if the service doesn't return the instance.
   *
   * @param name the resource's name in the program, unique among its siblings
   * @param id the service's id
   * @param opts Pulumi's options, such as `provider`
   */
  static get(name: string, id: pulumi.Input<pulumi.ID>, opts: pulumi.CustomResourceOptions = {}): Instance {
    return new Instance(name, {} as InstanceArgs, { ...opts, id });
  }
}
