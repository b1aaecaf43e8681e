import * as pulumi from "@pulumi/pulumi";
import { Instance, Project } from "pulumi-cloudinfra";

const image = new pulumi.Config().get("image") ?? "app-1.0";

const project = new Project("website", { region: "eu-1" });

const common = { project: project.id, flavor: "small", network: "default", publicIp: "auto" };

// Without a `name`: each gets one of its own, so the new instance can be made while the old one is still there.
const app = new Instance("app", { ...common, image });

// Is changed between the two: it learns the new address while both are there.
const entrance = new Instance("entrance", {
  ...common,
  image: "proxy-2.4",
  labels: { upstream: app.ipAddress.apply((address) => address ?? "none") },
});

/** Where the website can be reached; it stays. */
export const address = entrance.ipAddress;
/** What the service calls the instance behind it; a new image brings a new one. */
export const behind = app.id;
