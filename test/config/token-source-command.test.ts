import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { tokenSource } from "../../src/config/token-source";
import { expectSilentOn, NOTHING, wordsOf } from "./sources";

test("the command runs once if several requests are rejected at the same time", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "tokens-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const log = path.join(folder, "log");
  const command = `echo x >> '${log}'; echo "t-$(wc -l < '${log}')"`;
  const source = tokenSource({ kind: "tokenCommand", value: command, source: "the setting" }, NOTHING);
  expect(await source.get()).toBe("t-1");
  expect(await Promise.all([source.renew?.("t-1"), source.renew?.("t-1")])).toEqual(["t-2", "t-2"]);
  expect(readFileSync(log, "utf8")).toBe("x\nx\n");
});

test("the token's origin doesn't contain the text of the command, which may contain a password", () => {
  const source = tokenSource(
    {
      kind: "tokenCommand",
      value: "login --password hunter22",
      source: "the setting",
    },
    NOTHING,
  );
  expect(source.origin).not.toContain("hunter22");
});

test.each(["pat_never-to-be-seen", "'pat_never-to-be-seen'"])(
  "a token that was set as the command by mistake is removed from the shell's error: %s",
  async (value) => {
    const source = tokenSource({ kind: "tokenCommand", value, source: "the setting" }, NOTHING);
    expect(await wordsOf(source.get())).toMatch(
      /exited with code 127.*fix the reported problem: .*not found/s,
    );
    await expectSilentOn(source.get(), "pat_never-to-be-seen");
  },
);

test("an error names the program that the shell doesn't find if the command has arguments", async () => {
  const value = "none-such-login --print-token";
  const source = tokenSource({ kind: "tokenCommand", value, source: "the setting" }, NOTHING);
  expect(await wordsOf(source.get())).toContain("none-such-login");
});

test("a command that reads its input gets the end of the file immediately", async () => {
  const source = tokenSource(
    { kind: "tokenCommand", value: "read answer; echo t-1", source: "the setting" },
    NOTHING,
  );
  expect(await source.get()).toBe("t-1");
}, 30_000);

test("a token that the command has printed before is removed from its standard error", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "tokens-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const first = path.join(folder, "first");
  const value = `test -e '${first}' || { touch '${first}'; echo pat_never-to-be-seen; exit 0; }; echo "+ curl -H 'Bearer pat_never-to-be-seen'" >&2; exit 22`;
  const source = tokenSource({ kind: "tokenCommand", value, source: "the setting" }, NOTHING);
  expect(await source.get()).toBe("pat_never-to-be-seen");
  const words = await wordsOf(source.renew?.("pat_never-to-be-seen") ?? expect.fail());
  expect(words).toMatch(/exited with code 22.*Bearer \[secret\]/s);
  expect(words).not.toContain("never-to-be-seen");
});
