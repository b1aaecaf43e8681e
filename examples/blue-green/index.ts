import * as pulumi from "@pulumi/pulumi";
import { Instance, Project } from "pulumi-cloudinfra";

const image = new pulumi.Config().get("image") ?? "app-1.0";

const project = new Project("website", { region: "eu-1" });

const common = { project: project.id, flavor: "small", network: "default", publicIp: "auto" };

// Without a fixed `name`, each instance has a unique generated name, so Pulumi can create the new one before it deletes the old one.
const app = new Instance("app", { ...common, image });

// Pulumi updates this instance with the new address while both instances of `app` exist.
const entrance = new Instance("entrance", {
  ...common,
  image: "proxy-2.4",
  labels: { upstream: app.ipAddress.apply((address) => address ?? "none") },
});

/** Public address of the website. It doesn't change. */
export const address = entrance.ipAddress;
/** Id of the instance behind the entrance. It changes with each new image. */
export const behind = app.id;
