import { lstatSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { inspect } from "node:util";
import { Canary, randomText, randomToken, SHORTEST } from "./canary";
import type { Deployment, RunResult, StateResource } from "./engine";
import { inClear, isSecret } from "./state";

/** Whom a text reaches: anybody; or only who may see secret inputs (0600, an export that shows them), never the token. */
type Readers = "anybody" | "the owner";

/**
 * Knows a token and secret inputs, and looks for them where they must not be. Secret inputs that stand in a state are known
 * from then on, and looked for in what was said before, too. Leaks gather until `expectNone`.
 */
export class Leaks {
  /** The token to use, unless another one was given. */
  readonly token: string;
  private readonly tokens = new Map<string, Canary>();
  private readonly secrets = new Map<string, Canary>();
  private readonly heard: { where: string; text: string }[] = [];
  private readonly found = new Set<string>();

  constructor({ token = randomToken() }: { token?: string } = {}) {
    this.token = token;
    this.alsoToken(token);
  }

  /** A further token, made up by chance: after a rotation, of another account. */
  alsoToken(token: string = randomToken()): string {
    this.tokens.set(token, new Canary("the token", token, true));
    return token;
  }

  /** A value of a secret input; one made up by chance where none is given. */
  secret(value?: string): string {
    const text = value ?? randomText();
    this.secrets.set(
      text,
      new Canary(`the secret input ${this.secrets.size + 1}`, text, value === undefined),
    );
    return text;
  }

  /** The secrets that a program's source spells out: the service may refuse them before any state has them. */
  program(source: string): void {
    for (const [, text = ""] of source.matchAll(/pulumi\.secret\(["'`](.*?)["'`]/gs)) this.learn(text);
  }

  /** Something was printed, thrown, logged or sent elsewhere: neither a token nor a secret input may be in it. */
  said(where: string, what: unknown, readers: Readers = "anybody"): void {
    const text = typeof what === "string" ? what : asText(what);
    this.look(where, text, this.tokens);
    if (readers === "anybody") this.heard.push({ where, text });
  }

  /** What a command printed and told. */
  ran(where: string, { output, diagnostics }: RunResult, readers: Readers = "anybody"): void {
    this.said(`${where}: output`, output, readers);
    for (const diagnostic of diagnostics) this.said(`${where}: ${diagnostic.severity}`, diagnostic, readers);
  }

  /** Every file in a folder, name and content, but for what links lead to; a folder that is not there is empty. */
  files(where: string, folder: string, readers: Readers = "the owner"): void {
    for (const file of filesIn(folder)) {
      const name = `${where} ${path.relative(folder, file)}`;
      this.said(`${name} (its name)`, file.slice(folder.length), readers);
      this.said(name, ifReadable(() => readFileSync(file, "utf8")) ?? "", readers);
    }
  }

  /**
   * A state with its secrets shown: the token may stand only in the default provider's own configuration and there as a secret,
   * secret inputs only as secrets.
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

  /** All that was found so far. */
  leaks(): string[] {
    for (const { where, text } of this.heard) this.look(where, text, this.secrets);
    return [...this.found];
  }

  /** @throws Error that lists what got out where */
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

/** Texts among the secrets of a value of the state, however deep. */
function secretsIn(value: unknown): string[] {
  if (isSecret(value)) return textsIn(inClear(value));
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(secretsIn) : [];
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const withoutSecrets = (_key: string, value: unknown): unknown => (isSecret(value) ? "[secret]" : value);

/** All of a value, also what an error does not show as JSON. */
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

/** What can't be read, or is gone by now, tells nobody anything. */
function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && "code" in error && ["ENOENT", "EACCES"].includes(String(error.code)))
      return undefined;
    throw error;
  }
}
