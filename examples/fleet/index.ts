import * as pulumi from "@pulumi/pulumi";
import { getInstancesOutput, Instance, type InstanceArgs, Project } from "pulumi-cloudinfra";

const config = new pulumi.Config();

/** What the instances of each role are like. */
const roles: Record<string, Pick<InstanceArgs, "flavor" | "publicIp">> = {
  web: { flavor: "small", publicIp: "auto" },
  worker: { flavor: "medium" },
};

/** How many there are of each; the stack may say otherwise. */
const counts: Record<string, number> = { web: 2, worker: 3, ...config.getObject("counts") };

const project = new Project("fleet", { region: "eu-1" });

const fleet = Object.entries(roles).flatMap(([role, args]) =>
  Array.from(
    { length: counts[role] ?? 0 },
    (_, index) =>
      new Instance(`${role}-${index + 1}`, {
        project: project.id,
        image: "debian-13",
        network: "default",
        labels: { role, stack: pulumi.getStack() },
        ...args,
      }),
  ),
);

// Asks the service, once the fleet is there: it also tells of web servers that somebody else made in the project.
const web = getInstancesOutput({ project: project.id, labels: { role: "web" } }, { dependsOn: fleet });

/** How many instances this program has made. */
export const size = fleet.length;
/** Where the web servers can be reached. */
export const addresses = web.apply((found) => found.flatMap(({ ipAddress }) => ipAddress ?? []).sort());
