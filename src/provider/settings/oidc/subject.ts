import { readFile } from "node:fs/promises";
import path from "node:path";
import * as v from "valibot";
import { CloudInfraError, isCloudInfraError } from "../../../diagnostics/error";
import { oneToken } from "../one-token";
import type { OidcSetting } from "../token-setting";
import { addressOf } from "./address";
import { type Fetch, Passing } from "./fetch";

/** What the subject token is obtained with. */
export interface SubjectParts {
  readonly env: NodeJS.ProcessEnv;
  readonly allowHttp: boolean;
  readonly fetch: Fetch;
  /** Told of what must not be seen, before it is used. */
  readonly secret: (text: string) => void;
}

/**
 * The token to exchange, obtained anew: files of this kind are written over as their tokens end.
 *
 * @throws CloudInfraError `config_missing`, `config_invalid`, and what a request can end with
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

async function fromFile(file: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(path.resolve(file), "utf8");
  } catch (cause) {
    throw new CloudInfraError(
      "config_invalid",
      `the file ${file}, named by cloudinfra:oidcSubject, can't be read`,
      {
        cause,
        hint: "the path counts from the program's folder",
      },
    );
  }
  try {
    return oneToken(text, `the file ${file}, named by cloudinfra:oidcSubject,`);
  } catch (error) {
    // Whoever writes a file over empties it first.
    throw text.trim() === "" && isCloudInfraError(error) ? new Passing(error) : error;
  }
}

function fromVariable(name: string, env: NodeJS.ProcessEnv): string {
  const text = env[name];
  if (text === undefined) {
    throw new CloudInfraError(
      "config_missing",
      `the variable ${name}, named by cloudinfra:oidcSubject, is not set`,
      {
        hint: "it must be set where `pulumi` is run",
      },
    );
  }
  return oneToken(text, `the variable ${name}, named by cloudinfra:oidcSubject,`);
}

const URL_VARIABLE = "ACTIONS_ID_TOKEN_REQUEST_URL";
const TOKEN_VARIABLE = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";

const issued = v.pipe(v.string(), v.parseJson(), v.object({ value: v.string() }));

/** GitHub gives a job a token on request, each time a new one. */
async function fromGitHub(
  audience: string | undefined,
  { env, allowHttp, fetch, secret }: SubjectParts,
): Promise<string> {
  const { [URL_VARIABLE]: address, [TOKEN_VARIABLE]: pass } = env;
  if (!address || !pass) {
    throw new CloudInfraError("config_missing", "GitHub Actions offers this job no token to exchange", {
      hint:
        `${address ? TOKEN_VARIABLE : URL_VARIABLE} is not set: give the job \`permissions: id-token: write\`, ` +
        "or set cloudinfra:oidcSubject to something else where this is not GitHub Actions",
    });
  }
  secret(pass);
  const url = addressOf(address, { name: `the variable ${URL_VARIABLE}`, allowHttp, withQuery: true });
  if (audience !== undefined) url.searchParams.set("audience", audience);
  const headers = { accept: "application/json", authorization: `Bearer ${pass}` };
  const reply = await fetch("GitHub Actions' token service", url, { method: "GET", headers });
  const parsed = v.safeParse(issued, await reply.text());
  if (!parsed.success)
    throw new CloudInfraError("bad_reply", "GitHub Actions' token service answered without a token");
  return oneToken(parsed.output.value, "GitHub Actions' token service");
}
