import { instanceNews } from "../provider/samples";
import { failureOf, madeInstance, startService } from "../provider/service";
import type { Provocation } from "./provocation";

/** What `up` says with these settings added. */
async function withSettings(settings: Readonly<Record<string, string>>): Promise<string> {
  const service = await startService();
  const { instances } = await service.anew(settings);
  return (await failureOf(instances.create(instanceNews()))).message;
}

export const ofSettings: readonly Provocation[] = [
  { code: "config_missing", when: "no endpoint", provoke: () => withSettings({ endpoint: "" }) },
  { code: "config_missing", when: "no token", provoke: () => withSettings({ token: "" }) },
  {
    code: "config_missing",
    when: "no endpoint in a refresh",
    provoke: async () => {
      const service = await startService();
      const { id, state } = await madeInstance(service);
      const { instances } = await service.anew({ endpoint: "" });
      return (await failureOf(instances.read(id, state))).message;
    },
  },
  {
    code: "config_invalid",
    when: "an endpoint that is no URL",
    provoke: () => withSettings({ endpoint: "example" }),
  },
  {
    code: "config_invalid",
    when: "an endpoint without TLS",
    provoke: () => withSettings({ endpoint: "http://api.example.com" }),
  },
  {
    code: "config_invalid",
    when: "two sources of the token",
    provoke: () => withSettings({ tokenCommand: "print-token" }),
  },
  {
    code: "config_invalid",
    when: "a token file that can't be read",
    provoke: () => withSettings({ token: "", tokenFile: "/nowhere/token" }),
  },
  {
    code: "config_invalid",
    when: "a token command that fails",
    provoke: () => withSettings({ token: "", tokenCommand: "echo vault is sealed >&2; exit 2" }),
  },
  {
    code: "config_invalid",
    when: "a duration that is none",
    provoke: () => withSettings({ operationTimeout: "soon" }),
  },
  {
    code: "config_invalid",
    when: "a number that is none",
    provoke: () => withSettings({ concurrency: "many" }),
  },
  {
    code: "input_invalid",
    when: "an id that can't be one",
    provoke: async () => {
      const service = await startService();
      const { state } = await madeInstance(service);
      return (await failureOf(service.instances.read("..", state))).message;
    },
  },
  {
    code: "unauthorized",
    when: "a token in the stack's settings",
    provoke: () => withSettings({ token: "expired" }),
  },
  {
    code: "unauthorized",
    when: "a token in a variable",
    provoke: async () => {
      const service = await startService();
      const { instances } = await service.anew({ token: "" }, undefined, {
        env: { CLOUDINFRA_TOKEN: "expired" },
      });
      return (await failureOf(instances.create(instanceNews()))).message;
    },
  },
  {
    code: "unauthorized",
    when: "a token from elsewhere, such as a command",
    provoke: () => withSettings({ token: "", tokenCommand: "echo expired" }),
  },
  {
    code: "endpoint_changed",
    when: "another endpoint than the object's",
    provoke: async () => {
      const service = await startService();
      const { id, state } = await madeInstance(service);
      const { instances } = await service.anew({ endpoint: "https://api.example.org" });
      return (await failureOf(instances.read(id, state))).message;
    },
  },
];
