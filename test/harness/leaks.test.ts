import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Deployment, RunResult, StateResource } from "./engine";
import { Leaks } from "./leaks";

const SIGNATURE = { "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270" };
const secret = (value: unknown) => ({ ...SIGNATURE, plaintext: JSON.stringify(value) });

const resource = (more: Partial<StateResource>): StateResource => ({
  urn: "urn:pulumi:dev::scenario::pulumi-nodejs:dynamic/cloudinfra:Instance::web",
  custom: true,
  type: "pulumi-nodejs:dynamic/cloudinfra:Instance",
  ...more,
});

const result = (more: Partial<RunResult>): RunResult => ({
  ...{ ok: true, output: "", steps: [], changes: {}, diagnostics: [], outputs: {} },
  ...more,
});

/** Encodings in which output may contain a value. */
const spellings: Record<string, (value: string) => string> = {
  "as it is": (value) => `Bearer ${value}.`,
  "in JSON in JSON": (value) => JSON.stringify(JSON.stringify({ value: `"${value}"` })),
  "in a URL": (value) => `/v1?x=${encodeURIComponent(value)}&y`,
  "in base64, after one byte": (value) => Buffer.from(`a${value}b`).toString("base64"),
  "in base64, after two bytes": (value) => Buffer.from(`ab${value}cd`).toString("base64url"),
  "in base64, after three bytes": (value) => Buffer.from(`abc${value}`).toString("base64"),
  "in hexadecimal": (value) => Buffer.from(`x${value}`).toString("hex"),
};

describe("a token in output is found", () => {
  it.each(Object.entries(spellings))("%s", (_how, spell) => {
    const leaks = new Leaks();
    leaks.said("an error", new Error(spell(leaks.token)));
    expect(leaks.leaks()).toEqual([expect.stringContaining("the token")]);
    expect(() => leaks.expectNone()).toThrow("an error");
  });

  it("in fragments of sufficient length, but not in another token", () => {
    const leaks = new Leaks();
    leaks.said("a log", `${leaks.token.slice(0, 20)}\n  ${leaks.token.slice(20)}`);
    leaks.said("a log", new Leaks().token);
    expect(leaks.leaks()).toEqual([expect.stringContaining("in part")]);
  });

  it("in the cause of an error, in diagnostics of any severity, and in a command's output", () => {
    const { token } = new Leaks();
    const seen = (act: (leaks: Leaks) => void): number => {
      const leaks = new Leaks({ token });
      act(leaks);
      return leaks.leaks().length;
    };
    expect(seen((leaks) => leaks.said("x", new Error("a", { cause: new Error(token) })))).toBe(1);
    const diagnostics = [{ severity: "debug" as const, message: token }];
    expect(seen((leaks) => leaks.ran("up", result({ diagnostics })))).toBe(1);
    expect(seen((leaks) => leaks.ran("up", result({ output: token })))).toBe(1);
    expect(seen((leaks) => leaks.ran("up", result({ outputs: { token } })))).toBe(0);
    expect(seen((leaks) => leaks.ran("up", result({ output: token }), "the owner"))).toBe(1);
  });
});

it("a token is found in the content and the name of a file, and a secret input only in files that anybody may read", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-leaks-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const leaks = new Leaks();
  const input = leaks.secret();
  mkdirSync(path.join(folder, "deep"));
  writeFileSync(path.join(folder, "deep/entry"), JSON.stringify({ body: input }));
  leaks.files("the journal", folder);
  leaks.files("nothing", path.join(folder, "missing"));
  leaks.expectNone();
  leaks.files("the journal", folder, "anybody");
  expect(leaks.leaks()).toEqual([expect.stringContaining("the journal deep/entry")]);
  writeFileSync(path.join(folder, "deep/entry"), leaks.token);
  leaks.files("the journal", folder);
  writeFileSync(path.join(folder, `of-${encodeURIComponent(leaks.token)}`), "");
  leaks.files("the journal", folder);
  const tokens = leaks.leaks().filter((leak) => leak.startsWith("the token"));
  expect(tokens).toEqual([
    expect.stringContaining("in the journal deep/entry after"),
    expect.stringMatching(/in the journal of-.* \(its name\)/),
  ]);
});

it("the program's source is searched for the values of secret inputs", () => {
  const leaks = new Leaks();
  leaks.program(
    'new Instance("web", { flavor: pulumi.secret("hush-hush"), labels: { a: pulumi.secret(`short`) } })',
  );
  leaks.said("an error", "flavor hush-hush is unknown; short");
  expect(leaks.leaks()).toEqual([expect.stringMatching(/^the secret input 1, as it is, in an error/)]);
});

describe("a state", () => {
  const settings = (token: unknown): StateResource =>
    resource({ type: "pulumi:providers:pulumi-nodejs", inputs: { "cloudinfra:token": token } });

  it("may contain the token only as a secret in the configuration of the default provider", () => {
    const { token } = new Leaks();
    const isFound = (deployment: Deployment): boolean => {
      const leaks = new Leaks({ token });
      leaks.state("the state", deployment);
      return leaks.leaks().length > 0;
    };
    expect(isFound({ resources: [settings(secret(token))] })).toBe(false);
    const pending = resource({ inputs: { token } });
    expect(isFound({ pending_operations: [{ type: "creating", resource: pending }] })).toBe(true);
    for (const leaking of [
      settings(token),
      resource({ outputs: { __pending: secret({ token }) } }),
      resource({ initErrors: [`refused: ${token}`] }),
    ])
      expect(isFound({ resources: [leaking] })).toBe(true);
  });

  it("may contain secret inputs only as secrets, and their values are then searched for in all output", () => {
    const leaks = new Leaks();
    leaks.said("an earlier error", "the flavor hush-hush is unknown");
    const inputs = { flavor: secret("hush-hush"), labels: { deep: secret({ a: "deep-secret" }) } };
    leaks.state("the state", { resources: [resource({ inputs, outputs: { flavor: secret("hush-hush") } })] });
    leaks.said("a later one", "deep-secret");
    leaks.state("an open state", { resources: [resource({ inputs, outputs: { flavor: "hush-hush" } })] });
    expect(leaks.leaks()).toEqual([
      expect.stringMatching(/^the secret input 1, as it is, in an earlier error/),
      expect.stringMatching(/^the secret input 2, as it is, in a later one/),
      expect.stringMatching(/^the secret input 1, as it is, in an open state/),
    ]);
  });
});
