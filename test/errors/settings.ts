import { instanceNews } from "../provider/samples";
import { existingInstance, failureOf, startService } from "../provider/service";
import type { Provocation } from "./provocation";

/** Returns the message of a creation with these settings added. */
async function withSettings(settings: Readonly<Record<string, string>>): Promise<string> {
  const service = await startService();
  const { instances } = await service.newProviders(settings);
  return (await failureOf(instances.create(instanceNews()))).message;
}

export const ofSettings: readonly Provocation[] = [
  { code: "config_missing", when: "a missing endpoint", provoke: () => withSettings({ endpoint: "" }) },
  { code: "config_missing", when: "a missing token", provoke: () => withSettings({ token: "" }) },
  {
    code: "config_missing",
    when: "a missing endpoint during a refresh",
    provoke: async () => {
      const service = await startService();
      const { id, state } = await existingInstance(service);
      const { instances } = await service.newProviders({ endpoint: "" });
      return (await failureOf(instances.read(id, state))).message;
    },
  },
  {
    code: "config_invalid",
    when: "an endpoint that isn't a URL",
    provoke: () => withSettings({ endpoint: "example" }),
  },
  {
    code: "config_invalid",
    when: "an endpoint without TLS",
    provoke: () => withSettings({ endpoint: "http://api.example.com" }),
  },
  {
    code: "config_invalid",
    when: "two token sources",
    provoke: () => withSettings({ tokenCommand: "print-token" }),
  },
  {
    code: "config_invalid",
    when: "an unreadable token file",
    provoke: () => withSettings({ token: "", tokenFile: "/nowhere/token" }),
  },
  {
    code: "config_invalid",
    when: "a failing token command",
    provoke: () => withSettings({ token: "", tokenCommand: "echo vault is sealed >&2; exit 2" }),
  },
  {
    code: "config_invalid",
    when: "an invalid duration",
    provoke: () => withSettings({ operationTimeout: "soon" }),
  },
  {
    code: "config_invalid",
    when: "an invalid number",
    provoke: () => withSettings({ concurrency: "many" }),
  },
  {
    code: "input_invalid",
    when: "an invalid id",
    provoke: async () => {
      const service = await startService();
      const { state } = await existingInstance(service);
      return (await failureOf(service.instances.read("..", state))).message;
    },
  },
  {
    code: "unauthorized",
    when: "a token in the stack's configuration",
    provoke: () => withSettings({ token: "expired" }),
  },
  {
    code: "unauthorized",
    when: "a token in an environment variable",
    provoke: async () => {
      const service = await startService();
      const { instances } = await service.newProviders({ token: "" }, undefined, {
        env: { CLOUDINFRA_TOKEN: "expired" },
      });
      return (await failureOf(instances.create(instanceNews()))).message;
    },
  },
  {
    code: "unauthorized",
    when: "a token from another source, such as a command",
    provoke: () => withSettings({ token: "", tokenCommand: "echo expired" }),
  },
  {
    code: "endpoint_changed",
    when: "a changed endpoint",
    provoke: async () => {
      const service = await startService();
      const { id, state } = await existingInstance(service);
      const { instances } = await service.newProviders({ endpoint: "https://api.example.org" });
      return (await failureOf(instances.read(id, state))).message;
    },
  },
];
