import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { startService as startAnswering } from "../api/service";
import { instanceNews } from "../provider/samples";
import { failureOf, madeInstance, type Service, startService } from "../provider/service";
import type { Provocation } from "./provocation";

/** What `up` says of a resource with a profile where these profiles are set. */
async function withProfiles(profiles: object, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const service = await startService();
  const { instances } = await service.anew({ profiles: JSON.stringify(profiles), ...more });
  return (await failureOf(instances.create(instanceNews({ profile: "eu" })))).message;
}

/** What creating an instance with the profile "eu" says after something was done to the service that it leads to. */
async function creatingInEu(spoil: (service: Service) => unknown, more: object = {}): Promise<string> {
  const service = await startService();
  const { endpoint, token } = service.emulator;
  const { instances } = await service.anew({
    profiles: JSON.stringify({ eu: { endpoint, token, ...more } }),
  });
  await spoil(service);
  const [project = "prj-1"] = service.emulator.projects.keys();
  return (await failureOf(instances.create(instanceNews({ profile: "eu", project })))).message;
}

const ALWAYS = { times: Number.POSITIVE_INFINITY };
const eu = { endpoint: "https://eu.example.com", token: "t-1" };
const exchange = (oidcTokenEndpoint: string, oidcSubject = "") => ({ oidcTokenEndpoint, oidcSubject });

/** A file that holds a token, for the time of a test. */
function tokenFile(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "subject-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(path.join(folder, "token"), "token-of-the-machine");
  return path.join(folder, "token");
}

export const ofProfiles: readonly Provocation[] = [
  { code: "config_missing", when: "a profile that is not there", provoke: () => withProfiles({ us: eu }) },
  {
    code: "config_missing",
    when: "a profile without a token of its own",
    provoke: () => withProfiles({ eu: { endpoint: eu.endpoint } }),
  },
  {
    code: "config_missing",
    when: "an exchange without a token to exchange",
    provoke: () => withProfiles({ eu: exchange("https://sts.example.com/token") }),
  },
  {
    code: "config_invalid",
    when: "a profile with a setting that none has",
    provoke: () => withProfiles({ eu: { ...eu, tokn: "t-1" } }),
  },
  {
    code: "config_invalid",
    when: "a file of authorities that can't be read",
    provoke: () => withProfiles({ eu: { ...eu, caFile: "/nowhere/ca.pem" } }),
  },
  {
    code: "unauthorized",
    when: "an exchange that the token service refuses",
    provoke: async () => {
      const body = { error: "invalid_grant", error_description: "the token's issuer is not known here" };
      const { origin } = await startAnswering(() => ({ status: 400, body }));
      return withProfiles({ eu: exchange(`${origin}/token`, `file:${tokenFile()}`) });
    },
  },
  {
    code: "unauthorized",
    when: "a token of a profile",
    provoke: () => creatingInEu(() => {}, { token: "expired" }),
  },
  {
    code: "forbidden",
    when: "a request that the token of a profile may not make",
    provoke: () => creatingInEu(({ emulator }) => emulator.fail({ kind: "status", status: 403, ...ALWAYS })),
  },
  {
    code: "not_found",
    when: "the project of an instance with a profile",
    provoke: () => creatingInEu(() => {}),
  },
  {
    code: "unreachable",
    when: "no connection to where a profile leads",
    provoke: () => creatingInEu(({ emulator }) => emulator.stop()),
  },
  {
    code: "not_this_service",
    when: "a page where a profile leads",
    provoke: () => creatingInEu(({ emulator }) => emulator.fail({ kind: "html", status: 200, ...ALWAYS })),
  },
  {
    code: "forbidden",
    when: "an operation that the token of a profile may not see",
    provoke: () =>
      creatingInEu(({ emulator }) => {
        emulator.addProject();
        emulator.fail({ method: "GET", path: "/v1/operations/", kind: "status", status: 403, ...ALWAYS });
      }),
  },
  {
    code: "endpoint_changed",
    when: "a profile that leads elsewhere",
    provoke: async () => {
      const service = await startService();
      const { id, state } = await madeInstance(service);
      const { instances } = await service.anew({ profiles: JSON.stringify({ eu }) });
      return (await failureOf(instances.read(id, { ...state, profile: "eu" }))).message;
    },
  },
];
