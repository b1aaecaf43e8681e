import { CloudInfraError } from "../diagnostics/error";
import { argumentFix, type FoundSetting, fixOf, type SettingLookup } from "./setting-values";

/** Where the token comes from: the setting's name as a person knows it, and its value. */
export type TokenSetting = PlainTokenSetting | OidcSetting;

/** A token that is to be had as it is. */
export interface PlainTokenSetting {
  readonly kind: "token" | "tokenFile" | "tokenCommand";
  readonly value: string;
  readonly source: string;
}

/** A token that is exchanged for another one (RFC 8693). */
export interface OidcSetting {
  /** The address to exchange it at, or the one to ask for that address. */
  readonly kind: "oidcTokenEndpoint" | "oidcIssuer";
  readonly value: string;
  readonly source: string;
  readonly subject: Subject;
  /** Whom the subject token is meant for, where it can be asked for one. */
  readonly subjectAudience: string | undefined;
  readonly subjectTokenType: string;
  /** Whom the new token is to be meant for. */
  readonly audience: string | undefined;
  readonly scope: string | undefined;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
}

/** Where the token that is exchanged comes from. */
type Subject =
  | { readonly kind: "github" }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "env"; readonly name: string };

const PLAIN = ["token", "tokenFile", "tokenCommand"] as const;
const OIDC = ["oidcTokenEndpoint", "oidcIssuer"] as const;
const JWT = "urn:ietf:params:oauth:token-type:jwt";

/**
 * The token's source in one place; what else an exchange needs may stand elsewhere.
 *
 * @param provider the name of the explicit provider. @default the default provider
 * @throws CloudInfraError `config_missing`, `config_invalid`
 */
export function tokenSetting(
  inPlace: SettingLookup,
  look: SettingLookup,
  provider?: string,
): TokenSetting | undefined {
  const given = [...PLAIN, ...OIDC].flatMap((kind) => {
    const setting = inPlace(kind);
    return setting ? [{ kind, ...setting }] : [];
  });
  if (given.length > 1) {
    const names = given.map(({ source }) => source).join(" and ");
    throw new CloudInfraError("config_invalid", `the token has more than one source: ${names}`, {
      hint: "keep one of them",
    });
  }
  const [one] = given;
  if (one === undefined) return undefined;
  const { kind, value, source } = one;
  return kind === "oidcTokenEndpoint" || kind === "oidcIssuer"
    ? oidcSetting(kind, one, look, provider)
    : { kind, value, source };
}

function oidcSetting(
  kind: OidcSetting["kind"],
  { value, source }: FoundSetting,
  look: SettingLookup,
  provider: string | undefined,
): OidcSetting {
  const audience = look("oidcAudience")?.value;
  return {
    kind,
    value,
    source,
    subject: subjectOf(look("oidcSubject"), source, provider),
    subjectAudience: look("oidcSubjectAudience")?.value ?? audience,
    subjectTokenType: look("oidcSubjectTokenType")?.value ?? JWT,
    audience,
    scope: look("oidcScope")?.value,
    clientId: look("oidcClientId")?.value,
    clientSecret: look("oidcClientSecret")?.value,
  };
}

const FORMS = "github, file:<path> or env:<variable>";

function subjectOf(
  setting: FoundSetting | undefined,
  wantedBy: string,
  provider: string | undefined,
): Subject {
  const name = "oidcSubject";
  const fix = setting?.fix ?? (provider === undefined ? fixOf(name) : argumentFix(name, provider));
  const hint = fix.includes("…") ? fix.replace("…", FORMS) : `${fix}. It must be ${FORMS}`;
  if (setting === undefined) {
    const lacks =
      provider === undefined
        ? `cloudinfra:${name} is not set`
        : `the provider "${provider}" has no \`${name}\``;
    const message = `${lacks}: ${wantedBy} needs a token to exchange`;
    throw new CloudInfraError("config_missing", message, { hint });
  }
  if (setting.value === "github") return { kind: "github" };
  const [, kind, rest = ""] = /^(file|env):\s*(\S.*)$/.exec(setting.value) ?? [];
  if (kind === "file") return { kind, path: rest };
  if (kind === "env") return { kind, name: rest };
  // It may be the token itself, which must not be shown.
  throw new CloudInfraError("config_invalid", `${setting.source} is none of ${FORMS}`, { hint });
}
