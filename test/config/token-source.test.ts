import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { isCloudInfraError } from "../../src/diagnostics/error";
import { formatError } from "../../src/diagnostics/format";
import { FakeClock } from "../polling/fake-clock";
import { type HeldToken, NOTHING, tokenSource } from "./sources";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tokens-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const inFolder = (name: string): string => path.join(folder, name);

function fromFile(text: string): { source: HeldToken; write: (text: string) => void } {
  const file = inFolder("token");
  const write = (content: string) => writeFileSync(file, content);
  write(text);
  return { source: tokenSource({ kind: "tokenFile", value: file, source: "the setting" }, NOTHING), write };
}

const fromCommand = (value: string): HeldToken =>
  tokenSource({ kind: "tokenCommand", value, source: "the stack setting cloudinfra:tokenCommand" }, NOTHING);

/** What a person would see of a source that gives no token. */
async function failureOf(source: HeldToken): Promise<string> {
  const error: unknown = await source.get().then(
    (token) => `gave ${token}`,
    (reason: unknown) => reason,
  );
  expect(isCloudInfraError(error) && error.code).toBe("config_invalid");
  return formatError(error, { action: "reading" });
}

test("a token in a setting is used as it is, and can't be renewed", async () => {
  const source = tokenSource(
    { kind: "token", value: "t-1", source: "the environment variable CLOUDINFRA_TOKEN" },
    NOTHING,
  );
  expect(await source.get()).toBe("t-1");
  expect(await source.renew("t-1")).toBeUndefined();
  expect(source.origin).toBe("the environment variable CLOUDINFRA_TOKEN");
});

describe("a token file", () => {
  test("can end with a line break", async () => {
    expect(await fromFile("t-1\n").source.get()).toBe("t-1");
  });

  test("is read again only after the service has rejected the token", async () => {
    const { source, write } = fromFile("t-1");
    expect(await source.get()).toBe("t-1");
    write("t-2");
    expect(await source.get()).toBe("t-1");
    expect(await source.renew("t-1")).toBe("t-2");
    expect(await source.get()).toBe("t-2");
  });

  test("without a valid token is read again after it was corrected", async () => {
    const { source, write } = fromFile("t-1\u0007");
    await failureOf(source);
    write("t-2");
    expect(await source.get()).toBe("t-2");
  });

  test("that still contains the rejected token provides no other token", async () => {
    expect(await fromFile("t-1").source.renew("t-1")).toBeUndefined();
  });

  test("is not read again for a token that has already been replaced", async () => {
    const { source, write } = fromFile("t-2");
    await source.get();
    write("t-3");
    expect(await source.renew("t-1")).toBe("t-2");
  });

  test("that can't be read causes an error with its path, the setting and the reason, and is read again later", async () => {
    const file = inFolder("none");
    const source = tokenSource(
      {
        kind: "tokenFile",
        value: file,
        source: "the environment variable CLOUDINFRA_TOKEN_FILE",
      },
      NOTHING,
    );
    const words = await failureOf(source);
    expect(words).toContain(
      `the token file ${file} from the environment variable CLOUDINFRA_TOKEN_FILE can't be read`,
    );
    expect(words).toContain("ENOENT");
    writeFileSync(file, "t-1");
    expect(await source.get()).toBe("t-1");
  });

  test.each(["cloudpat_0123456789abcdef", "cloudpat_0123/456+789abcdef=="])(
    "whose path is the token itself by mistake causes an error without the path: %s",
    async (value) => {
      const source = tokenSource({ kind: "tokenFile", value, source: "cloudinfra:tokenFile" }, NOTHING);
      const words = await failureOf(source);
      expect(words).toContain("the token file from cloudinfra:tokenFile can't be read");
      expect(words).not.toContain(value);
    },
  );

  test.each([
    ["", "is empty"],
    [" \n", "is empty"],
    ["t-1 t-2", "contains more than a token"],
    ["t-1\nt-2", "contains more than a token"],
    ["t-1\u0000", "contains more than a token"],
    ["t-1é", "contains more than a token"],
  ])("that contains %j causes an error without the content", async (text, why) => {
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
  ])("can print the token alone or in JSON: %s", async (token, command) => {
    expect(await fromCommand(command).get()).toBe(token);
  });

  test.each([
    [
      "fails",
      "echo t-1 >&2; exit 4",
      ["exited with code 4", "Run the token command in the program's folder to see the error."],
    ],
    ["is killed", "kill -9 $$", ["was killed by SIGKILL"]],
    ["doesn't exist", "no-such-command-anywhere", ["exited with code 127"]],
    ["prints nothing", "true", ["the output of the token command", "is empty"]],
    ["prints JSON without a token", `echo '{"secret":"t-1"}'`, ["JSON without a token", '{"token": "…"}']],
    ["prints broken JSON", `echo '{"token": t-1'`, ["JSON without a token"]],
    ["prints more", "echo your token is t-1", ["contains more than a token"]],
    ["prints endlessly", "yes t-1", ["printed over a million characters instead of a token"]],
  ])("that %s fails with a hint that doesn't contain what it has printed", async (_what, command, hints) => {
    const words = await failureOf(fromCommand(command));
    for (const hint of hints) expect(words).toContain(hint);
    expect(words).not.toContain("t-1");
  });

  test.each([
    ["ignores SIGTERM", (child: string) => `trap "" TERM; ${child}; echo t-1`],
    ["leaves a background process that keeps its output open", (child: string) => `${child} & echo t-1`],
  ])(
    "that %s is killed after a minute, with all processes that it has started",
    async (_what, commandWith) => {
      const server = createServer();
      onTestFinished(() => void server.close());
      await once(server.listen(0, "127.0.0.1"), "listening");
      const address = server.address();
      if (address === null || typeof address === "string") throw new Error("no port");
      const child = `require("node:net").connect(${address.port}, "127.0.0.1").on("end", () => {})`;
      const value = commandWith(`'${process.execPath}' -e '${child}'`);
      const clock = new FakeClock();
      const source = tokenSource(
        { kind: "tokenCommand", value, source: "the setting" },
        { ...NOTHING, clock },
      );
      const failed = failureOf(source);
      const [connection] = await once(server, "connection");
      const isClosed = once(connection.resume(), "close");
      await clock.advance(60_000);
      expect(await failed).toContain("timed out after 60 s");
      await isClosed; // the process that the command has started holds the connection until it is killed
    },
  );

  test("can leave a background process that keeps its standard error open", async () => {
    const pid = inFolder("pid");
    expect(await fromCommand(`sleep 600 >/dev/null & echo $! > '${pid}'; echo t-1`).get()).toBe("t-1");
    process.kill(Number(readFileSync(pid, "utf8"))); // it is still there
  }, 30_000);

  test("runs once for concurrent callers, and not again while its token is valid", async () => {
    const log = inFolder("log");
    const source = fromCommand(`echo x >> '${log}'; echo t-1`);
    expect(await Promise.all([source.get(), source.get(), source.get()])).toEqual(["t-1", "t-1", "t-1"]);
    await source.get();
    expect(readFileSync(log, "utf8")).toBe("x\n");
  });

  test("runs again after a failure and after a rejected token", async () => {
    const log = inFolder("log");
    const source = fromCommand(
      `echo x >> '${log}'; test "$(wc -l < '${log}')" -gt 1 && echo "t-$(wc -l < '${log}')"`,
    );
    await failureOf(source);
    expect(await source.get()).toBe("t-2");
    expect(await source.renew("t-2")).toBe("t-3");
  });
});

test("the command runs once if several requests are rejected at the same time", async () => {
  const log = inFolder("log");
  const command = `echo x >> '${log}'; echo "t-$(wc -l < '${log}')"`;
  const source = tokenSource({ kind: "tokenCommand", value: command, source: "the setting" }, NOTHING);
  expect(await source.get()).toBe("t-1");
  expect(await Promise.all([source.renew("t-1"), source.renew("t-1")])).toEqual(["t-2", "t-2"]);
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

test("a command that reads its input gets the end of the file immediately", async () => {
  const source = tokenSource(
    { kind: "tokenCommand", value: "read answer; echo t-1", source: "the setting" },
    NOTHING,
  );
  expect(await source.get()).toBe("t-1");
}, 30_000);
