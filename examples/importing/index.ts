import * as pulumi from "@pulumi/pulumi";
import { Instance, Project } from "pulumi-cloudinfra";

const config = new pulumi.Config();

// The option `import` adopts existing objects. `protect` prevents accidental deletions.
const project = new Project(
  "shop",
  { name: "shop", region: "eu-1" },
  { import: config.require("projectId"), protect: true },
);

const web = new Instance(
  "web",
  {
    project: project.id,
    name: "web",
    image: "debian-13",
    flavor: "small",
    network: "default",
    labels: { role: "web" },
  },
  { import: config.require("webId"), protect: true },
);

/** Status of the instance. */
export const status = web.status;
