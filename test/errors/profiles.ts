import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { startService as startAnswering } from "../api/service";
import { instanceNews } from "../provider/samples";
import { failureOf, madeInstance, startService } from "../provider/service";
import type { Provocation } from "./provocation";

/** What `up` says of a resource with a profile where these profiles are set. */
async function withProfiles(profiles: object, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const service = await startService();
  const { instances } = await service.anew({ profiles: JSON.stringify(profiles), ...more });
  return (await failureOf(instances.create(instanceNews({ profile: "eu" })))).message;
}

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
    code: "not_found",
    when: "the project of an instance with a profile",
    provoke: async () => {
      const service = await startService();
      const { endpoint, token } = service.emulator;
      const { instances } = await service.anew({ profiles: JSON.stringify({ eu: { endpoint, token } }) });
      return (await failureOf(instances.create(instanceNews({ profile: "eu" })))).message;
    },
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
