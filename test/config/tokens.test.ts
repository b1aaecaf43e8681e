import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { TokenSource } from "../../src/api/client";
import { tokenSource } from "../../src/config/token-source";
import { isCloudInfraError } from "../../src/diagnostics/error";
import { formatError } from "../../src/diagnostics/format";
import { FakeClock } from "../polling/fake-clock";
import { NOTHING } from "./credentials/sources";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tokens-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const inFolder = (name: string): string => path.join(folder, name);

function fromFile(text: string): { source: TokenSource; write: (text: string) => void } {
  const file = inFolder("token");
  const write = (content: string) => writeFileSync(file, content);
  write(text);
  return { source: tokenSource({ kind: "tokenFile", value: file, source: "the setting" }, NOTHING), write };
}

const fromCommand = (value: string): TokenSource =>
  tokenSource(
    { kind: "tokenCommand", value, source: "the stack's setting cloudinfra:tokenCommand" },
    NOTHING,
  );

/** What a person would see of a source that gives no token. */
async function failureOf(source: TokenSource): Promise<string> {
  const error: unknown = await source.get().then(
    (token) => `gave ${token}`,
    (reason: unknown) => reason,
  );
  expect(isCloudInfraError(error) && error.code).toBe("config_invalid");
  return formatError(error, { action: "reading" });
}

test("a token of a setting is what stands there, and there is no other", async () => {
  const source = tokenSource(
    { kind: "token", value: "t-1", source: "the variable CLOUDINFRA_TOKEN" },
    NOTHING,
  );
  expect(await source.get()).toBe("t-1");
  expect(source.renew).toBeUndefined();
  expect(source.origin).toBe("the variable CLOUDINFRA_TOKEN");
});

describe("a token file", () => {
  test("may end in a line break", async () => {
    expect(await fromFile("t-1\n").source.get()).toBe("t-1");
  });

  test("is read again when the token is refused, and not before", async () => {
    const { source, write } = fromFile("t-1");
    expect(await source.get()).toBe("t-1");
    write("t-2");
    expect(await source.get()).toBe("t-1");
    expect(await source.renew?.("t-1")).toBe("t-2");
    expect(await source.get()).toBe("t-2");
  });

  test("that holds no token is read again after it was corrected", async () => {
    const { source, write } = fromFile("t-1\u0007");
    await failureOf(source);
    write("t-2");
    expect(await source.get()).toBe("t-2");
  });

  test("that still holds the refused token gives no other", async () => {
    expect(await fromFile("t-1").source.renew?.("t-1")).toBeUndefined();
  });

  test("is not read again for a token that was already replaced", async () => {
    const { source, write } = fromFile("t-2");
    await source.get();
    write("t-3");
    expect(await source.renew?.("t-1")).toBe("t-2");
  });

  test("that can't be read is an error that names it, the setting and why; later it may be there", async () => {
    const file = inFolder("none");
    const source = tokenSource(
      {
        kind: "tokenFile",
        value: file,
        source: "the variable CLOUDINFRA_TOKEN_FILE",
      },
      NOTHING,
    );
    const words = await failureOf(source);
    expect(words).toContain(
      `the token file ${file}, named by the variable CLOUDINFRA_TOKEN_FILE, can't be read`,
    );
    expect(words).toContain("ENOENT");
    writeFileSync(file, "t-1");
    expect(await source.get()).toBe("t-1");
  });

  test.each(["cloudpat_0123456789abcdef", "cloudpat_0123/456+789abcdef=="])(
    "that is the token itself by mistake is an error that doesn't show it: %s",
    async (value) => {
      const source = tokenSource({ kind: "tokenFile", value, source: "cloudinfra:tokenFile" }, NOTHING);
      const words = await failureOf(source);
      expect(words).toContain("the token file named by cloudinfra:tokenFile can't be read");
      expect(words).not.toContain(value);
    },
  );

  test.each([
    ["", "is empty"],
    [" \n", "is empty"],
    ["t-1 t-2", "is not a single token"],
    ["t-1\nt-2", "is not a single token"],
    ["t-1\u0000", "is not a single token"],
    ["t-1é", "is not a single token"],
  ])("that holds %j is an error that does not repeat it", async (text, why) => {
    const words = await failureOf(fromFile(text).source);
    expect(words).toContain(why);
    expect(words).not.toContain("t-1");
  });
});

describe("a token command", () => {
  test.each([
    ["t-1", "echo t-1"],
    ["t-2", `echo '{"token":"t-2","expires_in":60}'`],
    ["t-3", `echo '{"access_token":"t-3"}'`],
  ])("prints the token alone or as JSON: %s", async (token, command) => {
    expect(await fromCommand(command).get()).toBe(token);
  });

  test.each([
    ["fails", "echo t-1; echo not logged in >&2; exit 3", ["exited with code 3", "reports: not logged in"]],
    ["fails silently", "exit 4", ["exited with code 4", "Run it in the program's folder to see why."]],
    ["is killed", "kill -9 $$", ["was killed by SIGKILL"]],
    ["doesn't exist", "no-such-command-anywhere", ["exited with code 127", "not found"]],
    ["prints nothing", "true", ["the output of the token command", "is empty"]],
    ["prints JSON without a token", `echo '{"secret":"t-1"}'`, ["JSON without a token", '{"token": "…"}']],
    ["prints broken JSON", `echo '{"token": t-1'`, ["JSON without a token"]],
    ["prints more", "echo your token is t-1", ["is not a single token"]],
    ["prints endlessly", "yes t-1", ["printed more than a token"]],
  ])("that %s fails with a hint, without what it printed", async (_what, command, hints) => {
    const words = await failureOf(fromCommand(command));
    for (const hint of hints) expect(words).toContain(hint);
    expect(words).not.toContain("t-1");
  });

  test("that fails after printing the token, and repeats it on its standard error, fails without it", async () => {
    const words = await failureOf(
      fromCommand("echo secret-token-1; echo 'cannot store secret-token-1' >&2; exit 1"),
    );
    expect(words).toContain("reports: cannot store");
    expect(words).not.toContain("secret-token");
  });

  test.each([
    ["ignores SIGTERM", (child: string) => `trap "" TERM; ${child}; echo t-1`],
    [
      "leaves a process in the background that keeps its output open",
      (child: string) => `${child} & echo t-1`,
    ],
  ])("that %s is killed after a minute, with all that it has started", async (_what, commandWith) => {
    const server = createServer();
    onTestFinished(() => void server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const child = `require("node:net").connect(${address.port}, "127.0.0.1").on("end", () => {})`;
    const value = commandWith(`'${process.execPath}' -e '${child}'`);
    const clock = new FakeClock();
    const source = tokenSource({ kind: "tokenCommand", value, source: "the setting" }, { ...NOTHING, clock });
    const failed = failureOf(source);
    const [connection] = await once(server, "connection");
    const isClosed = once(connection.resume(), "close");
    await clock.advance(60_000);
    expect(await failed).toContain("timed out after 60 s");
    await isClosed; // the process that the command has started holds the connection until it is killed
  });

  test("may leave a process in the background that keeps its standard error open", async () => {
    const pid = inFolder("pid");
    expect(await fromCommand(`sleep 600 >/dev/null & echo $! > '${pid}'; echo t-1`).get()).toBe("t-1");
    process.kill(Number(readFileSync(pid, "utf8"))); // it is still there
  }, 30_000);

  test("is run once for all who ask at the same time, and not again while its token is good", async () => {
    const log = inFolder("log");
    const source = fromCommand(`echo x >> '${log}'; echo t-1`);
    expect(await Promise.all([source.get(), source.get(), source.get()])).toEqual(["t-1", "t-1", "t-1"]);
    await source.get();
    expect(readFileSync(log, "utf8")).toBe("x\n");
  });

  test("is run again after a failure and after a refusal", async () => {
    const log = inFolder("log");
    const source = fromCommand(
      `echo x >> '${log}'; test "$(wc -l < '${log}')" -gt 1 && echo "t-$(wc -l < '${log}')"`,
    );
    await failureOf(source);
    expect(await source.get()).toBe("t-2");
    expect(await source.renew?.("t-2")).toBe("t-3");
  });
});
