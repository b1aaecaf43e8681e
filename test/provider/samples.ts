import type { Properties } from "../../src/model/state";

/** The idempotency key of most samples, a UUID v4. */
export const KEY = "3f8a2c1e-5b7d-4e9f-8a1b-2c3d4e5f6a7b";
export const OTHER_KEY = "9b1d4c7a-0e2f-4a3b-9c8d-7e6f5a4b3c2d";

/** Pulumi's placeholder for an unknown string. */
export const UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
export const UNKNOWN_LIST = "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2";
export const UNKNOWN_MAP = "dd056dcd-154b-4c76-9bd3-c8f88648b5ff";

export const SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0vy ada@example.org";

const urnOf = (type: string, name: string): string =>
  `urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:${type}::${name}`;

/** Returns the inputs of a project as the engine passes them to check. */
export function projectNews(more: Properties = {}): Properties {
  return {
    name: "shop",
    region: "eu-1",
    __provider: 'exports.handler=()=>require("pulumi-cloudinfra/provider").project',
    __urn: urnOf("Project", "shop"),
    __key: KEY,
    ...more,
  };
}

/** Returns the inputs of an instance as the engine passes them to check, without those that are `undefined`. */
export function instanceNews(more: Properties = {}): Properties {
  const news: Properties = {
    project: "prj-1",
    name: "web",
    image: "debian-13",
    flavor: "m1.small",
    network: "default",
    __provider: 'exports.handler=()=>require("pulumi-cloudinfra/provider").instance',
    __urn: urnOf("Instance", "web"),
    __key: KEY,
    ...more,
  };
  return Object.fromEntries(Object.entries(news).filter(([, value]) => value !== undefined));
}
