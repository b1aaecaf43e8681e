import * as pulumi from "@pulumi/pulumi";
import { ENV_VAR_MAPPINGS, PROVIDER_NAME, secretSettings, settings, tokenSources } from "../config/settings";
import { environmentOfRun } from "./sdk";

/**
 * Arguments of a {@link Provider}. If you omit an argument, the provider reads its environment variable, such as
 * `CLOUDINFRA_OPERATION_TIMEOUT` for `operationTimeout`. If you pass `endpoint`, the provider ignores the environment variables of token
 * sources. The stack's configuration sets only `cloudinfra:journalDir`, because a stack has one journal.
 */
export interface ProviderArgs {
  /** Base URL of the service (required), with or without `/v1`. `http://` is allowed only for the local machine, or with `allowHttp`. */
  endpoint?: pulumi.Input<string | undefined>;
  /** API token for the service. It is always encrypted in the state. */
  token?: pulumi.Input<string | undefined>;
  /** Path to a file that contains the token, relative to the program's folder. The file is read again if the service rejects the token. */
  tokenFile?: pulumi.Input<string | undefined>;
  /** Shell command that prints the token, or JSON with `token` or `access_token`. A rejected token makes the command run again. */
  tokenCommand?: pulumi.Input<string | undefined>;
  /** URL of the token endpoint that exchanges the token in `oidcSubject` for a token of the service (RFC 8693). */
  oidcTokenEndpoint?: pulumi.Input<string | undefined>;
  /** URL of the OpenID Connect issuer whose metadata contains the token endpoint. */
  oidcIssuer?: pulumi.Input<string | undefined>;
  /** Token to exchange: `github` for the identity token of a GitHub Actions job, `file:<path>`, or `env:<variable>`. */
  oidcSubject?: pulumi.Input<string | undefined>;
  /** Audience of the token that the provider requests from GitHub Actions. @default the value of `oidcAudience` */
  oidcSubjectAudience?: pulumi.Input<string | undefined>;
  /** Type of the token to exchange, as a URN. @default `urn:ietf:params:oauth:token-type:jwt` */
  oidcSubjectTokenType?: pulumi.Input<string | undefined>;
  /** Audience of the new token. */
  oidcAudience?: pulumi.Input<string | undefined>;
  /** Scope of the new token. */
  oidcScope?: pulumi.Input<string | undefined>;
  /** Client id, if the token endpoint requires one. */
  oidcClientId?: pulumi.Input<string | undefined>;
  /** Client secret, if the token endpoint requires one. It is always encrypted in the state. */
  oidcClientSecret?: pulumi.Input<string | undefined>;
  /** Maximum duration of a create, update or delete, unless the resource's `customTimeouts` option sets a different one. @default `30m` */
  operationTimeout?: pulumi.Input<string | undefined>;
  /** Whether to allow `http://` endpoints on other machines. The token is then sent unencrypted. @default `false` */
  allowHttp?: pulumi.Input<boolean | undefined>;
  /** Path to a PEM file with certificate authorities to trust in addition to Node.js's own, relative to the program's folder. */
  caFile?: pulumi.Input<string | undefined>;
  /** Maximum number of concurrent requests. @default `16` */
  concurrency?: pulumi.Input<number | undefined>;
  /** Maximum number of requests per second, which may be a fraction. @default no limit */
  maxRequestsPerSecond?: pulumi.Input<number | undefined>;
  /**
   * Name of the field that contains an instance's revision, if the service uses a non-standard name.
   * @default the `ETag` header, or a field with a common name
   */
  revisionField?: pulumi.Input<string | undefined>;
  /**
   * Name of the field that contains an instance's public IP address, if the service uses a non-standard name.
   * @default `ip_address`, `public_address` or `public_ip`
   */
  ipAddressField?: pulumi.Input<string | undefined>;
  /** Previous base URLs of the service, if it has moved to `endpoint`. */
  formerEndpoints?: pulumi.Input<pulumi.Input<string>[] | undefined>;
}

const INPUTS = Symbol.for("pulumi-cloudinfra.providerInputs");

/** The settings of a provider in the form that its process receives: strings by configuration key. */
export type ProviderInputs = Readonly<Record<string, pulumi.Input<string | undefined>>>;

/**
 * An explicit provider, with its own settings for some resources of a program, for example in another account or region. Pass the provider
 * to a resource with the `provider` option, or to a component with the `providers` option. Resources without an explicit provider use the
 * stack's configuration.
 *
 * Arguments can be outputs, for example a token that another resource creates. If an argument changes, Pulumi updates the provider and
 * replaces no resources.
 *
 * @example
 * ```ts
 * const config = new pulumi.Config();
 * const eu = new Provider("eu", { endpoint: "https://eu.example.com", token: config.requireSecret("euToken") });
 * const project = new Project("shop", { region: "eu-1" }, { provider: eu });
 * const running = getInstances({ status: "running" }, { provider: eu });
 * ```
 */
export class Provider extends pulumi.ProviderResource {
  /**
   * Declares a provider. If a required argument is missing or invalid, its first request fails with `config_missing` or `config_invalid`.
   *
   * @param name name of the provider in the program, which errors contain
   * @param args settings of the provider. @default environment variables
   * @param opts resource options of Pulumi
   * @throws RunError if an argument is unknown, for example misspelled
   */
  constructor(name: string, args: ProviderArgs = {}, opts: pulumi.ResourceOptions = {}) {
    // In tests with the emulator, the variables must not select a real service.
    const envVarMappings = environmentOfRun().CLOUDINFRA_EMULATED ? {} : (opts?.envVarMappings ?? {});
    const inputs = providerInputs(name, args, envVarMappings);
    super("pulumi-nodejs", name, inputs, { ...opts, envVarMappings });
    Object.defineProperty(this, INPUTS, { value: inputs });
  }
}

function providerInputs(
  name: string,
  args: ProviderArgs,
  envVarMappings: Readonly<Record<string, string>>,
): ProviderInputs {
  // If a misspelled argument were ignored, an environment variable could take its place and send the token to another service.
  const known = Object.keys(settings).filter((setting) => setting !== "journalDir");
  requireKnownNames(args, known, ["argument", ` of provider "${name}"`]);
  // The program and all provider processes of a stack share one journal.
  const journalDir = new pulumi.Config("cloudinfra").get("journalDir");
  const required = requiredArguments(args);
  const given = Object.entries({ ...args, journalDir }).filter(
    ([key, value]) => isGiven(value) || required.includes(key),
  );
  const inputs = given.map(([key, value]: [string, unknown]) => {
    const output: pulumi.Output<unknown> = pulumi.output(value);
    const text = output.apply((known) => asText(known) ?? (required.includes(key) ? "" : undefined));
    return [`cloudinfra:${key}`, secretSettings.includes(key) ? pulumi.secret(text) : text];
  });
  const mappings = Object.entries(envVarMappings).map(([from, to]) => `${from}=${to}`);
  return {
    ...Object.fromEntries(inputs),
    [PROVIDER_NAME]: name,
    ...(mappings.length > 0 && { [ENV_VAR_MAPPINGS]: mappings.join() }),
  };
}

/**
 * Returns the arguments that must have a value if the program passes them: the endpoint, and the only token source. For example, an unset
 * variable is `undefined`. If the provider ignored the argument, the environment might select another account.
 */
function requiredArguments(args: ProviderArgs): string[] {
  const passed = tokenSources.filter((name) => name in args);
  const given = passed.filter((name) => isGiven(args[name]));
  const sources = given.length === 0 ? passed : given.length === 1 ? given : [];
  return ["endpoint", ...sources].filter((name) => name in args);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Rejects misspelled and misplaced names, which would otherwise have no effect. Error messages don't list the `ignored` names. */
export function requireKnownNames(
  given: object,
  known: readonly string[],
  [noun, owner]: readonly [string, string],
  ignored: readonly string[] = [],
): void {
  const unknown = Object.keys(given).find((name) => ![...known, ...ignored].includes(name));
  if (unknown === undefined) return;
  const names = known.join(", ");
  throw new pulumi.RunError(`cloudinfra: unknown ${noun} "${unknown}"${owner}: the ${noun}s are ${names}`);
}

function asText(value: unknown): string | undefined {
  if (!isGiven(value)) return undefined;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Returns the settings of an explicit provider, or `undefined` if the stack's configuration applies. */
export function inputsOf(provider: pulumi.Resource | undefined): ProviderInputs | undefined {
  return provider && Reflect.get(provider, INPUTS);
}
