/** Handwritten exports of a stack, in the format of `pulumi stack export --show-secrets`. */

const PREFIX = "urn:pulumi:dev::app";
export const INSTANCE = "pulumi-nodejs:dynamic/cloudinfra:Instance";
export const PROJECT = "pulumi-nodejs:dynamic/cloudinfra:Project";
export const ENDPOINT = "https://api.example.com/v1";
export const TOKEN = "pat_never-to-be-seen";
export const KEY = "0b8e5a3e-6b6c-4c59-9a39-1f0d3a2b7c11";
export const OTHER_KEY = "5d0c4f7a-93a1-4a53-8f3e-2a6f0f6f9e22";
export const KEY_MADE = Date.UTC(2026, 2, 4, 9, 30);
const SAVED = "2026-03-04T10:00:00.123456789Z";

export const urnOf = (type: string, name: string): string => `${PREFIX}::${type}::${name}`;
export const STACK_URN = urnOf("pulumi:pulumi:Stack", "app-dev");

export type Fields = Record<string, unknown>;

export const secret = (value: unknown): Fields => ({
  "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
  plaintext: JSON.stringify(value),
});

export const hiddenSecret: Fields = {
  "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
  ciphertext: "v1:bm9uY2U=:c2VjcmV0",
};

/** Composes a resource of the state or of a pending operation. */
export const resource = (type: string, name: string, inputs: Fields, more: Fields = {}): Fields => ({
  urn: urnOf(type, name),
  custom: true,
  type,
  inputs: { __urn: urnOf(type, name), __provider: "exports.handler=…", ...inputs },
  ...more,
});

/** Composes the checked inputs of an instance, in the order of a state. */
export const instanceInputs = (more: Fields = {}): Fields => ({
  __key: KEY,
  __keyAt: KEY_MADE,
  flavor: "small",
  image: "ubuntu",
  labels: { tier: "web", app: "shop" },
  name: "web-0b8e5a3",
  network: "default",
  project: "prj-1",
  ...more,
});

export const projectInputs = (more: Fields = {}): Fields => ({
  __key: OTHER_KEY,
  __keyAt: KEY_MADE,
  name: "p",
  region: "eu-1",
  ...more,
});

export const creating = (resource: Fields): Fields => ({ type: "creating", resource });

export interface Stack {
  readonly resources?: readonly Fields[];
  readonly pending?: readonly Fields[];
  /** Settings of the default provider in addition to endpoint and token. Undefined for no provider. */
  readonly settings?: Fields | undefined;
  readonly manifest?: Fields;
}

export function exported(stack: Stack = {}): Fields {
  const { resources = [], pending = [], manifest = { time: SAVED } } = stack;
  const settings = {
    "cloudinfra:endpoint": "https://api.example.com",
    "cloudinfra:token": secret(TOKEN),
    ...stack.settings,
  };
  const provider = { urn: urnOf("pulumi:providers:pulumi-nodejs", "default"), id: "c0ffee", custom: true };
  const hasProvider = !("settings" in stack) || stack.settings !== undefined;
  return {
    version: 3,
    deployment: {
      manifest,
      secrets_providers: { type: "passphrase" },
      resources: [
        { urn: STACK_URN, custom: false, type: "pulumi:pulumi:Stack" },
        ...(hasProvider
          ? [{ ...provider, type: "pulumi:providers:pulumi-nodejs", inputs: settings, outputs: settings }]
          : []),
        ...resources,
      ],
      pending_operations: pending,
      metadata: {},
    },
  };
}
