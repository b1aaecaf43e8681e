import { Instance, Project } from "pulumi-cloudinfra";

const project = new Project("shop", { region: "eu-1" });

const common = { project: project.id, image: "debian-13", network: "default" };

const web = new Instance("web", {
  ...common,
  flavor: "small",
  publicIp: "auto",
  labels: { role: "web" },
});

const worker = new Instance("worker", { ...common, flavor: "medium" });
const database = new Instance("database", { ...common, flavor: "large" });

/** Public address of the shop. */
export const address = web.ipAddress;
/** Ids of the instances in the service. */
export const instances = { web: web.id, worker: worker.id, database: database.id };
