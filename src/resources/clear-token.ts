import * as pulumi from "@pulumi/pulumi";
import { currentRun } from "./run";

const SECRETS = ["token", "oidcClientSecret"];

/** Warns once in each run of a program if a token or a client secret is in plaintext in the stack's settings file. */
export function warnOfTokenInClear(): void {
  const run = currentRun();
  if (run.hasWarnedOfToken) return;
  run.hasWarnedOfToken = true;
  const settings = new pulumi.Config("cloudinfra");
  const inClear = (name: string): string | undefined =>
    isSecretSetting(`cloudinfra:${name}`) ? undefined : settings.get(name);
  for (const name of SECRETS) if (inClear(name) !== undefined) warn(`cloudinfra:${name}`);
}

function warn(setting: string): void {
  void pulumi.log.warn(
    `cloudinfra: ${setting} is stored in plaintext in the stack's settings file. ` +
      `Set it as a secret with \`pulumi config set --secret ${setting}\`. If the file was shared, renew the token.`,
  );
}

/** Reports whether a setting is secret. If a version of the SDK doesn't tell, nobody is warned without reason. */
function isSecretSetting(key: string): boolean {
  const isConfigSecret: unknown = Reflect.get(pulumi.runtime, "isConfigSecret");
  return typeof isConfigSecret === "function" ? isConfigSecret(key) === true : true;
}
