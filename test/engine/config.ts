import fs from "node:fs";
import path from "node:path";
import type { ConfigValue } from "../harness/engine";
import { Secret, type Values } from "./values/values";

type Entries = Record<string, ConfigValue>;

/** A stack's configuration, kept in a file next to the state. A key without a namespace belongs to the project. */
export class StackConfig {
  constructor(
    private readonly file: string,
    private readonly project: string,
  ) {}

  set(key: string, value: ConfigValue): void {
    this.#write({ ...this.#read(), [this.#full(key)]: value });
  }

  remove(key: string): void {
    const { [this.#full(key)]: _removed, ...rest } = this.#read();
    this.#write(rest);
  }

  /** Moves this configuration to a renamed stack. */
  moveTo(other: StackConfig): void {
    if (other.file !== this.file && fs.existsSync(this.file)) fs.renameSync(this.file, other.file);
  }

  /** Returns the environment variables from which the program reads the configuration. */
  environment(): Record<string, string> {
    const entries = Object.entries(this.#read());
    return {
      PULUMI_CONFIG: JSON.stringify(Object.fromEntries(entries.map(([key, value]) => [key, inClear(value)]))),
      PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(
        entries.filter(([, value]) => typeof value !== "string").map(([key]) => key),
      ),
    };
  }

  /** Returns the inputs of the default provider, which the state contains. */
  providerInputs(): Values {
    const entries = Object.entries(this.#read()).sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(
      entries.map(([key, value]) => [key, typeof value === "string" ? value : new Secret(value.secret)]),
    );
  }

  clear(): { config: Record<string, string>; secretKeys: string[] } {
    const entries = Object.entries(this.#read());
    return {
      config: Object.fromEntries(entries.map(([key, value]) => [key, inClear(value)])),
      secretKeys: entries.filter(([, value]) => typeof value !== "string").map(([key]) => key),
    };
  }

  #full(key: string): string {
    return key.includes(":") ? key : `${this.project}:${key}`;
  }

  #read(): Entries {
    if (!fs.existsSync(this.file)) return {};
    return JSON.parse(fs.readFileSync(this.file, "utf8"));
  }

  #write(entries: Entries): void {
    fs.mkdirSync(path.dirname(this.file), { recursive: true });
    fs.writeFileSync(this.file, JSON.stringify(entries, null, 1), { mode: 0o600 });
  }
}

function inClear(value: ConfigValue): string {
  return typeof value === "string" ? value : value.secret;
}
