import * as pulumi from "@pulumi/pulumi";
import { getInstancesOutput, Instance, type InstanceArgs, Project } from "pulumi-cloudinfra";

const config = new pulumi.Config();

/** Arguments of the instances in each role. */
const roles: Record<string, Pick<InstanceArgs, "flavor" | "publicIp">> = {
  web: { flavor: "small", publicIp: "auto" },
  worker: { flavor: "medium" },
};

/** Number of instances in each role. The stack's configuration takes precedence. */
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

// Waits for the fleet, then lists all web servers in the project, including those that other programs created.
const web = getInstancesOutput({ project: project.id, labels: { role: "web" } }, { dependsOn: fleet });

/** Number of instances that this program manages. */
export const size = fleet.length;
/** Public addresses of the web servers. */
export const addresses = web.apply((found) => found.flatMap(({ ipAddress }) => ipAddress ?? []).sort());
