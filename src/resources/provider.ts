import * as pulumi from "@pulumi/pulumi";

/**
 * Arguments of a {@link Provider}: the settings of the package. A setting that is left out is taken from its environment variable, but a token
 * only if the endpoint is left out, too. The stack's configuration doesn't apply, apart from `cloudinfra:journalDir`: a stack has one journal.
 */
export interface ProviderArgs {
  /** Address of the service, with or without `/v1`. Plain `http` only for this machine. @default `CLOUDINFRA_ENDPOINT` */
  endpoint?: pulumi.Input<string | undefined>;
  /** The token. Always encrypted in the state. @default `CLOUDINFRA_TOKEN`, if `endpoint` is left out */
  token?: pulumi.Input<string | undefined>;
  /** A file with the token, from the program's folder. It is read again when the token is rejected. */
  tokenFile?: pulumi.Input<string | undefined>;
  /** A command that prints the token, or JSON with `token` or `access_token`. It runs again when the token is rejected. */
  tokenCommand?: pulumi.Input<string | undefined>;
  /** Where a token of the machine is exchanged for one of the service (OIDC, RFC 8693). */
  oidcTokenEndpoint?: pulumi.Input<string | undefined>;
  /** In place of `oidcTokenEndpoint`: the issuer whose metadata names it. */
  oidcIssuer?: pulumi.Input<string | undefined>;
  /** The token to exchange: `github`, `file:<path>` or `env:<variable>`. */
  oidcSubject?: pulumi.Input<string | undefined>;
  /** Audience of the token to request from GitHub. @default the value of `oidcAudience` */
  oidcSubjectAudience?: pulumi.Input<string | undefined>;
  /** Type of the token to exchange. @default `urn:ietf:params:oauth:token-type:jwt` */
  oidcSubjectTokenType?: pulumi.Input<string | undefined>;
  /** Audience of the new token. */
  oidcAudience?: pulumi.Input<string | undefined>;
  /** Scope of the new token. */
  oidcScope?: pulumi.Input<string | undefined>;
  /** Id of the client, if the exchange requires one. */
  oidcClientId?: pulumi.Input<string | undefined>;
  /** Secret of the client. Always encrypted in the state. */
  oidcClientSecret?: pulumi.Input<string | undefined>;
  /** How long a create, update or delete may take if `customTimeouts` doesn't say. @default `30m` */
  operationTimeout?: pulumi.Input<string | undefined>;
  /** Whether plain `http` is allowed for other machines, too. @default false */
  allowHttp?: pulumi.Input<boolean | undefined>;
  /** A file with the certificates of private authorities (PEM), from the program's folder. */
  caFile?: pulumi.Input<string | undefined>;
  /** The maximum number of concurrent requests. */
  concurrency?: pulumi.Input<number | undefined>;
  /** The maximum number of requests per second. */
  maxRequestsPerSecond?: pulumi.Input<number | undefined>;
  /** Name of the field that holds an instance's revision, if it is an unusual one. */
  revisionField?: pulumi.Input<string | undefined>;
  /** Name of the field that holds an instance's public address, if it is an unusual one. */
  ipAddressField?: pulumi.Input<string | undefined>;
  /** Addresses that the service had before it moved. */
  formerEndpoints?: pulumi.Input<pulumi.Input<string>[] | undefined>;
}

/** Arguments that are secret, however the program gives them. */
const SECRETS: ReadonlySet<string> = new Set(["token", "oidcClientSecret"]);

const INPUTS = Symbol.for("pulumi-cloudinfra.providerInputs");

/** A provider's settings as the provider process gets them: texts, by their key in the configuration. */
export type ProviderInputs = Readonly<Record<string, pulumi.Input<string | undefined>>>;

/**
 * An explicit provider: settings for some of a program's resources, such as those of another account or region. Pass it with the option
 * `provider`, or to a component with `providers`, whose children inherit it. Without an explicit provider, the stack's configuration applies.
 *
 * An argument may be an output, for example a token that another resource creates. If you change an argument, nothing is replaced.
 *
 * @example
 * ```ts
 * const eu = new Provider("eu", { endpoint: "https://eu.example.com", token: config.requireSecret("euToken") });
 * const project = new Project("shop", { region: "eu-1" }, { provider: eu });
 * const running = getInstances({ status: "running" }, { provider: eu });
 * ```
 */
export class Provider extends pulumi.ProviderResource {
  /**
   * @param name the provider's name in the program. Errors name it
   * @param args the settings. Wrong ones are errors of the first resource that needs the service
   * @param opts Pulumi's options
   */
  constructor(name: string, args: ProviderArgs = {}, opts: pulumi.ResourceOptions = {}) {
    const inputs = providerInputs(name, args);
    super("pulumi-nodejs", name, inputs, opts);
    Object.defineProperty(this, INPUTS, { value: inputs });
  }
}

function providerInputs(name: string, args: ProviderArgs): ProviderInputs {
  // All provider processes of a stack, and the program, must find the same entries.
  const journalDir = new pulumi.Config("cloudinfra").get("journalDir");
  const named = Object.entries({ ...args, journalDir }).filter(([, value]) => value !== undefined);
  const inputs = named.map(([key, value]: [string, unknown]) => {
    const given: pulumi.Output<unknown> = pulumi.output(value);
    const text = given.apply(asText);
    return [`cloudinfra:${key}`, SECRETS.has(key) ? pulumi.secret(text) : text];
  });
  return { ...Object.fromEntries(inputs), "cloudinfra:providerName": name };
}

function asText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Returns the settings of the explicit provider that serves a resource, or `undefined` if the stack's configuration applies. */
export function inputsOf(provider: pulumi.ProviderResource | undefined): ProviderInputs | undefined {
  return provider && Reflect.get(provider, INPUTS);
}
