import * as pulumi from "@pulumi/pulumi";
import { Instance, Project } from "pulumi-cloudinfra";

/** Arguments of a {@link Shop}. */
interface ShopArgs {
  region: pulumi.Input<string>;
  image: pulumi.Input<string>;
  /** Flavor of every instance. @default "small" */
  flavor?: pulumi.Input<string>;
  /** Number of workers. It is a plain number, because it determines the number of resources. @default 1 */
  workers?: number;
}

/** A shop, which consists of a project with a web server and workers. */
class Shop extends pulumi.ComponentResource {
  /** Id of the project. */
  readonly project: pulumi.Output<string>;
  /** Public address of the web server. */
  readonly address: pulumi.Output<string | undefined>;

  constructor(name: string, args: ShopArgs, opts?: pulumi.ComponentResourceOptions) {
    super("example:index:Shop", name, {}, opts);

    // Before this component existed, the program declared these resources at the top level. The aliases prevent their replacement.
    const inside = { parent: this, aliases: [{ parent: pulumi.rootStackResource }] };

    const project = new Project(`${name}-project`, { region: args.region }, inside);
    const common = {
      project: project.id,
      image: args.image,
      flavor: args.flavor ?? "small",
      network: "default",
    };
    const web = new Instance(`${name}-web`, { ...common, publicIp: "auto", labels: { role: "web" } }, inside);
    for (let number = 1; number <= (args.workers ?? 1); number++)
      new Instance(`${name}-worker-${number}`, { ...common, labels: { role: "worker" } }, inside);

    this.project = project.id;
    this.address = web.ipAddress;
    this.registerOutputs({ project: this.project, address: this.address });
  }
}

const north = new Shop("north", { region: "eu-1", image: "debian-13", workers: 2 });
const south = new Shop("south", { region: "us-1", image: "debian-13", flavor: "large" });

/** Public addresses of the shops. */
export const addresses = { north: north.address, south: south.address };
