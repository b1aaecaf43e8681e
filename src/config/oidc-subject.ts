import * as v from "valibot";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { type Fetch, parseOidcUrl, TransientError } from "./oidc-http";
import type { OidcSetting } from "./read-settings";
import { parseToken, readTokenFile } from "./setting-files";

/** What getting a subject token needs. */
export interface SubjectParts {
  readonly env: NodeJS.ProcessEnv;
  readonly allowHttp: boolean;
  readonly fetch: Fetch;
  /** Called with each secret before it is used: it must not be shown. */
  readonly secret: (text: string) => void;
}

/**
 * Gets the token to exchange. It is never reused: whatever issues such tokens replaces them before they expire.
 *
 * @throws CloudInfraError `config_missing`, `config_invalid`, and the errors of {@link Fetch}
 */
export async function subjectToken(setting: OidcSetting, parts: SubjectParts): Promise<string> {
  const { subject } = setting;
  const token =
    subject.kind === "file"
      ? await fromFile(subject.path)
      : subject.kind === "env"
        ? fromVariable(subject.name, parts.env)
        : await fromGitHub(setting.subjectAudience, parts);
  parts.secret(token);
  return token;
}

const SETTING = "cloudinfra:oidcSubject";

async function fromFile(file: string): Promise<string> {
  const { text, name } = await readTokenFile(file, "the file", SETTING);
  try {
    return parseToken(text, name);
  } catch (error) {
    // Another process may be replacing the file's content at this moment.
    throw text.trim() === "" && isCloudInfraError(error) ? new TransientError(error) : error;
  }
}

/** By convention, so that another name may be the token itself. */
const NAME = /^[A-Z_]+\d{0,2}$/;

function fromVariable(name: string, env: NodeJS.ProcessEnv): string {
  const text = env[name];
  if (text === undefined) {
    const variable = NAME.test(name)
      ? `the variable ${name}, named by ${SETTING},`
      : `the variable named by ${SETTING}`;
    throw new CloudInfraError("config_missing", `${variable} is not set`, {
      hint: "Set it in the environment of `pulumi`.",
    });
  }
  return parseToken(text, `the variable ${name}, named by ${SETTING},`);
}

const URL_VARIABLE = "ACTIONS_ID_TOKEN_REQUEST_URL";
const TOKEN_VARIABLE = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";

const issued = v.pipe(v.string(), v.parseJson(), v.object({ value: v.string() }));

/** Requests a token for this job from GitHub Actions, which issues a new one for each request. */
async function fromGitHub(
  audience: string | undefined,
  { env, allowHttp, fetch, secret }: SubjectParts,
): Promise<string> {
  const { [URL_VARIABLE]: address, [TOKEN_VARIABLE]: pass } = env;
  if (!address || !pass) {
    const missing = address ? TOKEN_VARIABLE : URL_VARIABLE;
    throw new CloudInfraError("config_missing", `GitHub Actions provides no token: ${missing} is not set`, {
      hint:
        "Give the job `permissions: id-token: write`. If this is not GitHub Actions, set cloudinfra:oidcSubject to " +
        "file:<path> or env:<variable>.",
    });
  }
  secret(pass);
  const url = parseOidcUrl(address, { name: `the variable ${URL_VARIABLE}`, allowHttp, withQuery: true });
  if (audience !== undefined) url.searchParams.set("audience", audience);
  const headers = { accept: "application/json", authorization: `Bearer ${pass}` };
  const reply = await fetch("GitHub Actions' token service", url, { method: "GET", headers });
  const parsed = v.safeParse(issued, await reply.text());
  if (!parsed.success)
    throw new CloudInfraError("bad_reply", "the reply of GitHub Actions' token service contains no token", {
      hint: `Check that nothing but GitHub Actions sets ${URL_VARIABLE}.`,
    });
  return parseToken(parsed.output.value, "the token of GitHub Actions");
}
