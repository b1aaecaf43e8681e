import * as pulumi from "@pulumi/pulumi";
import { Instance, Project } from "pulumi-cloudinfra";

const image = new pulumi.Config().get("image") ?? "app-1.0";

const project = new Project("website", { region: "eu-1" });

const common = { project: project.id, flavor: "small", network: "default", publicIp: "auto" };

// Without a `name`, both instances get different names, so the new one can be created before the old one is deleted.
const app = new Instance("app", { ...common, image });

// Pulumi updates this instance with the new address while both instances of `app` exist.
const entrance = new Instance("entrance", {
  ...common,
  image: "proxy-2.4",
  labels: { upstream: app.ipAddress.apply((address) => address ?? "none") },
});

/** Public address of the website. It doesn't change. */
export const address = entrance.ipAddress;
/** Id of the instance behind the entrance. A new image results in a new id. */
export const behind = app.id;
