import path from "node:path";

/** The implementations of the resources. */
export const VARIANTS = ["no-op", "usual", "ours"] as const;
export type Variant = (typeof VARIANTS)[number];

/** Returns the program: a project and its instances, with every argument. Only the import of the classes differs. */
export function programOf(variant: Variant, instances: number): string {
  const library =
    variant === "ours" ? "pulumi-cloudinfra" : path.join(__dirname, "programs", `${variant}.js`);
  return `
const { Project, Instance } = require(${JSON.stringify(library)});
const project = new Project("shop", { name: "shop", region: "eu-1" });
for (let at = 0; at < ${instances}; at++)
  new Instance("web" + at, {
    project: project.id, name: "web" + at, image: "ubuntu-24.04", flavor: "small", network: "default", publicIp: "auto",
    sshKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHZ0AAAAC3NzaC1lZDI1NTE5AAAAIHZ0AAAA me@laptop"],
    labels: { tier: "web", team: "shop" },
  });
`;
}
