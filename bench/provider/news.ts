import { randomUUID } from "node:crypto";
import type { Properties } from "../../src/model/state";
import { instanceNews } from "../../test/provider/samples";

const URN = "urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:Instance";

/** Returns the inputs of one instance as a program registers them, with a fresh key for each run. */
export function newsOf(at: number, project: string, more: Properties = {}): Properties {
  const resource = `web${at}`;
  return instanceNews({
    project,
    name: undefined,
    sshKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHZ0AAAAC3NzaC1lZDI1NTE5AAAAIHZ0AAAA me@laptop"],
    labels: { tier: "web", team: "shop" },
    __urn: `${URN}::${resource}`,
    __key: randomUUID(),
    ...more,
  });
}
