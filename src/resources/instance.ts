import * as pulumi from "@pulumi/pulumi";
import {
  afterConstruction,
  beginConstruction,
  type DynamicResource,
  type GetOptions,
  lookedUp,
} from "./dynamic-resource";

/** Arguments of an {@link Instance} (§2.2). */
export interface InstanceArgs {
  /** Id of the project that holds the instance: `project.id`. A change replaces the instance. */
  project: pulumi.Input<string>;
  /**
   * Name of the instance. Updated in place; where it is given, a replacement deletes the old instance first.
   * @default the resource's name and seven characters, made up once and kept
   */
  name?: pulumi.Input<string>;
  /** Image to create the instance from. A change replaces the instance. */
  image: pulumi.Input<string>;
  /** Flavor (size) of the instance. Updated in place. */
  flavor: pulumi.Input<string>;
  /** Network of the instance. Updated in place. */
  network: pulumi.Input<string>;
  /**
   * How the instance gets a public address, for instance `"auto"`; the address is {@link Instance.ipAddress}.
   * Updated in place.
   * @default left to the service
   */
  publicIp?: pulumi.Input<string>;
  /** SSH public keys, one line each. Order and comments make no difference. Updated in place. */
  sshKeys?: pulumi.Input<pulumi.Input<string>[]>;
  /** Labels. Only those set here are managed: what others add is kept. Updated in place. */
  labels?: pulumi.Input<Record<string, pulumi.Input<string>>>;
  /**
   * Profile of settings (`cloudinfra:profiles`) that leads to the account or region of the instance. The same as that of its project. A plain text, known at once.
   * Another name for the same place changes nothing at the service; another place is an error.
   * @default the settings without a profile
   */
  profile?: string;
}

const resource: DynamicResource = {
  provider: "instance",
  type: "pulumi-nodejs:dynamic/cloudinfra:Instance",
  outputs: [
    ...["profile", "project", "name", "image", "flavor", "network", "publicIp", "sshKeys", "labels"],
    ...["status", "createdAt", "revision", "url", "ipAddress", "additionalProperties"],
  ],
  secretOutputs: ["additionalProperties", "__pending", "__words"],
};

/** A virtual machine instance in a project (§2.2). Its `id` is the service's. */
export class Instance extends pulumi.CustomResource {
  /** Id of the project that holds the instance. */
  declare readonly project: pulumi.Output<string>;
  /** Name of the instance, as given or made up. */
  declare readonly name: pulumi.Output<string>;
  /** Image, as given. */
  declare readonly image: pulumi.Output<string>;
  /** Flavor, as given. */
  declare readonly flavor: pulumi.Output<string>;
  /** Network, as given. */
  declare readonly network: pulumi.Output<string>;
  /** Public address mode, as given: `"auto"` stays `"auto"`. */
  declare readonly publicIp: pulumi.Output<string | undefined>;
  /** SSH public keys, as given. */
  declare readonly sshKeys: pulumi.Output<string[] | undefined>;
  /** The labels that this program manages. */
  declare readonly labels: pulumi.Output<Record<string, string> | undefined>;
  /** Status at the service, for instance `"running"` (§3). */
  declare readonly status: pulumi.Output<string | undefined>;
  /** When the service created the instance (ISO 8601, UTC). */
  declare readonly createdAt: pulumi.Output<string | undefined>;
  /** Revision of the instance; every update is made on condition that it has not moved (§4.5). */
  declare readonly revision: pulumi.Output<string | undefined>;
  /** Address of the instance at the service. */
  declare readonly url: pulumi.Output<string>;
  /** The instance's public IP address, if it has one: what `publicIp: "auto"` became. */
  declare readonly ipAddress: pulumi.Output<string | undefined>;
  /** What else the service returned, under its own names. A secret, for it may hold a first password. */
  declare readonly additionalProperties: pulumi.Output<Record<string, unknown> | undefined>;

  /** Profile of settings, as given. */
  declare readonly profile: pulumi.Output<string | undefined>;

  /**
   * @param name the resource's name in the program, unique among its siblings
   * @param args the instance's arguments; a wrong one is refused before anything is made
   * @param opts Pulumi's options; `customTimeouts` bound the waits, `import` takes over the object of that
   * id after comparing it with `args`: what can be changed in place is, other differences are an error
   * @throws Error in words, where the program's folder can't resolve this package, or `import` is no id
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
    afterConstruction(this, resource, construction);
  }

  /**
   * Looks at an instance that this program does not manage: it is read anew by each `up` and preview, and never changed or deleted. An
   * error where the service does not show it.
   *
   * @param name the resource's name in the program, unique among its siblings
   * @param id the service's id
   * @param opts Pulumi's options, and the profile that leads to the instance
   */
  static get(name: string, id: pulumi.Input<pulumi.ID>, opts: GetOptions = {}): Instance {
    return new Instance(name, ...lookedUp<InstanceArgs>(id, opts));
  }
}
