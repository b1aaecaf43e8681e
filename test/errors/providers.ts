import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { startService as startAnswering } from "../api/service";
import { oneInstance } from "../provider/one-instance";
import { instanceNews } from "../provider/samples";
import { existingInstance, failureOf, type Service, startService } from "../provider/service";
import { lasting, type Provocation } from "./provocation";

/** Returns the message of a creation with an explicit provider that has these arguments. */
async function withProvider(args: Readonly<Record<string, string | undefined>>): Promise<string> {
  const service = await startService();
  const none = { endpoint: undefined, token: undefined };
  const { instances } = await service.newProviders({ ...none, ...args, providerName: "eu" });
  return (await failureOf(instances.create(instanceNews()))).message;
}

/** Returns the message of a creation with the provider "eu", after `spoil` changed its service. */
async function creatingInEu(
  spoil: (service: Service) => unknown,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const service = await startService();
  const { instances } = await service.newProviders({ providerName: "eu", ...more });
  await spoil(service);
  const [project = "prj-1"] = service.emulator.projects.keys();
  return (await failureOf(instances.create(instanceNews({ project })))).message;
}

const eu = { endpoint: "https://eu.example.com", token: "t-1" };
const exchange = (oidcTokenEndpoint: string, oidcSubject?: string) => ({
  endpoint: eu.endpoint,
  oidcTokenEndpoint,
  oidcSubject,
});

/** Creates a token file, which is removed after the test. */
function tokenFile(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "subject-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(path.join(folder, "token"), "token-of-the-machine");
  return path.join(folder, "token");
}

export const ofProviders: readonly Provocation[] = [
  {
    code: "config_missing",
    when: "an explicit provider without an endpoint",
    provoke: () => withProvider({ token: eu.token }),
  },
  {
    code: "config_missing",
    when: "an explicit provider without a token",
    provoke: () => withProvider({ endpoint: eu.endpoint }),
  },
  {
    code: "config_missing",
    when: "a token exchange without a subject token",
    provoke: () => withProvider(exchange("https://sts.example.com/token")),
  },
  {
    code: "config_invalid",
    when: "an explicit provider with an invalid argument",
    provoke: () => withProvider({ ...eu, concurrency: "none" }),
  },
  {
    code: "config_invalid",
    when: "an unreadable CA file",
    provoke: () => withProvider({ ...eu, caFile: "/nowhere/ca.pem" }),
  },
  {
    code: "unauthorized",
    when: "a rejected token exchange",
    provoke: async () => {
      const body = { error: "invalid_grant", error_description: "the token's issuer is not known here" };
      const { origin } = await startAnswering(() => ({ status: 400, body }));
      return withProvider(exchange(`${origin}/token`, `file:${tokenFile()}`));
    },
  },
  {
    code: "unauthorized",
    when: "a token of an explicit provider",
    provoke: () => creatingInEu(() => {}, { token: "expired" }),
  },
  {
    code: "forbidden",
    when: "a request without permission with an explicit provider",
    provoke: () => creatingInEu(({ emulator }) => emulator.fail(lasting({ kind: "status", status: 403 }))),
  },
  {
    code: "not_found",
    when: "the project of an instance with an explicit provider",
    provoke: () => creatingInEu(() => {}),
  },
  {
    code: "unreachable",
    when: "a failed connection with an explicit provider",
    provoke: () => creatingInEu(({ emulator }) => emulator.stop()),
  },
  {
    code: "not_this_service",
    when: "a web page at the endpoint of an explicit provider",
    provoke: () => creatingInEu(({ emulator }) => emulator.fail(lasting({ kind: "html", status: 200 }))),
  },
  {
    code: "forbidden",
    when: "an operation that isn't visible with the token of an explicit provider",
    provoke: () =>
      creatingInEu(({ emulator }) => {
        emulator.addProject();
        emulator.fail(lasting({ method: "GET", path: "/v1/operations/", kind: "status", status: 403 }));
      }),
  },
  {
    code: "endpoint_changed",
    when: "an explicit provider with a different endpoint",
    provoke: async () => {
      const service = await startService();
      const { id, state } = await existingInstance(service);
      const { instances } = await service.newProviders({ providerName: "eu", ...eu });
      return (await failureOf(instances.read(id, state))).message;
    },
  },
  {
    code: "provider_changed",
    when: "an unfinished creation whose resource now uses a different provider",
    provoke: async () => {
      const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
      const failed = await web.up({ __timeouts: { create: "5s" } });
      if (failed === undefined) throw new Error("the creation ended");
      const { id, state, inputs } = web.inState();
      const { instances } = await service.newProviders({ providerName: "eu" });
      return (await failureOf(instances.update(id, state, inputs))).message;
    },
  },
];
