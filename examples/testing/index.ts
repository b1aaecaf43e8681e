import * as pulumi from "@pulumi/pulumi";
import { Instance, Project } from "pulumi-cloudinfra";

const workers = new pulumi.Config().getNumber("workers") ?? 1;

const project = new Project("shop", { region: "eu-1" });

const common = { project: project.id, image: "debian-13", network: "default", labels: { team: "shop" } };

const web = new Instance("web", { ...common, flavor: "small", publicIp: "auto" });

for (let number = 1; number <= workers; number++)
  new Instance(`worker-${number}`, { ...common, flavor: "medium" });

/** Public address of the shop. */
export const address = web.ipAddress;
