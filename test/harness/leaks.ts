import { lstatSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { inspect } from "node:util";
import { Canary, randomText, randomToken, SHORTEST } from "./canary";
import type { Deployment, RunResult, StateResource } from "./engine";
import { inClear, isSecret } from "./state";

/**
 * Who can read a text: anybody, or only the owner, who may see secret inputs but not the token. Files with mode 0600 and
 * exports that show secrets are for the owner.
 */
type Readers = "anybody" | "the owner";

/**
 * Searches output, files and states for tokens and secret inputs. It collects secret inputs from states and programs, and
 * searches earlier output for them, too. `expectNone` fails if anything was found.
 */
export class Leaks {
  /** The first token; random unless the constructor was given one. */
  readonly token: string;
  private readonly tokens = new Map<string, Canary>();
  private readonly secrets = new Map<string, Canary>();
  private readonly output: { where: string; text: string }[] = [];
  private readonly found = new Set<string>();

  constructor({ token = randomToken() }: { token?: string } = {}) {
    this.token = token;
    this.alsoToken(token);
  }

  /** Adds a token, for example one after a rotation or of another account. @default a random token */
  alsoToken(token: string = randomToken()): string {
    this.tokens.set(token, new Canary("the token", token, true));
    return token;
  }

  /** Adds a value of a secret input. @default a random value */
  secret(value?: string): string {
    const text = value ?? randomText();
    this.secrets.set(
      text,
      new Canary(`the secret input ${this.secrets.size + 1}`, text, value === undefined),
    );
    return text;
  }

  /** Adds the secrets in a program's source. If the service rejects them, no state ever contains them. */
  program(source: string): void {
    for (const [, text = ""] of source.matchAll(/pulumi\.secret\(["'`](.*?)["'`]/gs)) this.learn(text);
  }

  /** Searches output, an error, a log or a request to another origin. */
  said(where: string, what: unknown, readers: Readers = "anybody"): void {
    const text = typeof what === "string" ? what : asText(what);
    this.look(where, text, this.tokens);
    if (readers === "anybody") this.output.push({ where, text });
  }

  /** Searches the output and the diagnostics of a command. */
  ran(where: string, { output, diagnostics }: RunResult, readers: Readers = "anybody"): void {
    this.said(`${where}: output`, output, readers);
    for (const diagnostic of diagnostics) this.said(`${where}: ${diagnostic.severity}`, diagnostic, readers);
  }

  /** Searches the name and the content of each file in a folder, without following links. The folder may be missing. */
  files(where: string, folder: string, readers: Readers = "the owner"): void {
    for (const file of filesIn(folder)) {
      const name = `${where} ${path.relative(folder, file)}`;
      this.said(`${name} (its name)`, file.slice(folder.length), readers);
      this.said(name, ifReadable(() => readFileSync(file, "utf8")) ?? "", readers);
    }
  }

  /**
   * Searches a state that was exported with its secrets. The token may occur only as a secret in the configuration of the
   * default provider, and secret inputs only as secrets.
   */
  state(where: string, { resources = [], pending_operations = [] }: Deployment): void {
    const pending = pending_operations.map(({ resource }) => resource);
    for (const resource of [...resources, ...pending]) {
      this.learnFrom(resource);
      const ofProvider = resource.type.startsWith("pulumi:providers:pulumi-nodejs");
      if (!ofProvider) this.said(`${where} with secrets: ${resource.urn}`, resource, "the owner");
      this.said(`${where}: ${resource.urn}`, asText(resource, withoutSecrets));
    }
  }

  /** The leaks found so far. */
  leaks(): string[] {
    for (const { where, text } of this.output) this.look(where, text, this.secrets);
    return [...this.found];
  }

  /** @throws Error that lists each leak and its place */
  expectNone(): void {
    const leaks = this.leaks();
    if (leaks.length > 0) throw new Error(`${leaks.length} leaks:\n${leaks.join("\n")}`);
  }

  private look(where: string, text: string, canaries: ReadonlyMap<string, Canary>): void {
    for (const canary of canaries.values()) {
      const seen = canary.in(text);
      if (seen === undefined) continue;
      const before = text.slice(Math.max(0, seen.at - 60), seen.at);
      this.found.add(`${canary.name}, ${seen.how}, in ${where} after ${JSON.stringify(before)}`);
    }
  }

  private learnFrom({ type, inputs = {} }: StateResource): void {
    if (type.startsWith("pulumi:providers:")) return;
    for (const text of Object.values(inputs).flatMap(secretsIn)) this.learn(text);
  }

  private learn(text: string): void {
    if (text.length >= SHORTEST && !this.secrets.has(text)) this.secret(text);
  }
}

/** The strings inside the secrets of a value in the state, at any depth. */
function secretsIn(value: unknown): string[] {
  if (isSecret(value)) return stringsIn(inClear(value));
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(secretsIn) : [];
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

const withoutSecrets = (_key: string, value: unknown): unknown => (isSecret(value) ? "[secret]" : value);

/** A value as text, including the parts of an error that JSON omits. */
function asText(value: unknown, replacer?: (key: string, value: unknown) => unknown): string {
  const inspected = value instanceof Error ? `${inspect(value, { depth: 10 })} ` : "";
  return inspected + (JSON.stringify(value, replacer) ?? String(value));
}

function filesIn(at: string): string[] {
  const found = ifReadable(() => lstatSync(at));
  if (found?.isFile()) return [at];
  if (!found?.isDirectory()) return [];
  const names = ifReadable(() => readdirSync(at)) ?? [];
  return names.flatMap((name) => filesIn(path.join(at, name)));
}

/** Returns undefined if the file can't be read or no longer exists: it can't leak anything then. */
function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && "code" in error && ["ENOENT", "EACCES"].includes(String(error.code)))
      return undefined;
    throw error;
  }
}
