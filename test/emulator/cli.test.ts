import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { greeting } from "../../src/cli/emulator";
import { startEmulator } from "../../src/emulator";
import { defaultBehaviour } from "../../src/emulator/behaviour";
import { faultKinds } from "../../src/emulator/faults";
import { behaviourSettings, parseBehaviourOption, parseFaultOption } from "../../src/emulator/options";
import { Sessions } from "../../src/provider/context";
import { parseCommandLine } from "../cli/command-line";

const root = path.join(__dirname, "..", "..");

interface Run {
  readonly child: ChildProcess;
  readonly lines: AsyncIterator<string>;
  /** The exit code and the output. */
  readonly end: Promise<{ code: unknown; stdout: string; stderr: string }>;
}

function cli(...args: string[]): Run {
  const child = spawn(process.execPath, [path.join(root, "dist", "cli", "main.js"), ...args]);
  onTestFinished(() => void child.kill("SIGKILL"));
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const end = once(child, "close").then(([code]) => ({ code, stdout, stderr }));
  return { child, end, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

async function take(lines: AsyncIterator<string>, count: number): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < count) {
    const { value, done } = await lines.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}

describe("the emulator command", () => {
  test.for(["SIGINT", "SIGTERM"] as const)(
    "prints the settings to paste, serves requests, and exits with 0 on %s",
    async (signal) => {
      const { child, lines, end } = cli(
        "emulator",
        ..."--port 0 --token pat_1 --operation-time 0 --behaviour getObject=405 --behaviour projectPost=200 --verbose".split(
          " ",
        ),
      );
      const greeting = (await take(lines, 10)).join("\n");
      const endpoint = /endpoint +(http:\/\/127\.0\.0\.1:\d+\/v1)/.exec(greeting)?.[1];
      expect(greeting).toContain(`pulumi config set cloudinfra:endpoint ${endpoint}`);
      expect(greeting).toContain("pulumi config set --secret cloudinfra:token pat_1");
      const page = /page +(http:\/\/127\.0\.0\.1:\d+)$/m.exec(greeting)?.[1];
      expect(endpoint).toBe(`${page}/v1`);
      expect(await (await fetch(`${page}/`)).text()).toContain("<h1>Cloud Infrastructure Service");
      const headers = { authorization: "Bearer pat_1", "content-type": "application/json" };
      const body = JSON.stringify({ name: "shop", region: "eu-1" });
      const created = await fetch(`${endpoint}/projects?x=1`, { method: "POST", headers, body });
      expect(created.status).toBe(200);
      expect((await fetch(`${endpoint}/instances/ins-1`, { headers })).status).toBe(405);
      expect(await take(lines, 2)).toEqual([
        expect.stringMatching(/^\d\d:\d\d:\d\d POST \/v1\/projects\?x=1 200$/),
        expect.stringMatching(/^\d\d:\d\d:\d\d GET \/v1\/instances\/ins-1 405$/),
      ]);
      child.kill(signal);
      expect(await end).toMatchObject({ code: 0, stderr: "" });
    },
  );

  test("doesn't serve the page with --no-page", async () => {
    const { lines } = cli("emulator", "--port", "0", "--no-page", "--verbose");
    const greeting = (await take(lines, 9)).join("\n");
    expect(greeting).not.toMatch(/^ *page/m);
    const [, url] = /endpoint +(.*)\/v1/.exec(greeting) ?? [];
    expect((await fetch(`${url}/`)).status).toBe(401);
    expect(await take(lines, 1)).toEqual([expect.stringMatching(/ GET \/ 401$/)]);
  });

  test("doesn't serve the page if other machines can reach the host", async () => {
    const { lines } = cli("emulator", "--port", "0", "--host", "0.0.0.0", "--token", "own");
    const greeting = (await take(lines, 9)).join("\n");
    expect(greeting).not.toMatch(/^ *page/m);
    const [, url] = /endpoint +(.*)\/v1/.exec(greeting) ?? [];
    expect((await fetch(`${url}/`)).status).toBe(401);
  });

  test("exits with 1 if the port is in use", async () => {
    const other = await startEmulator();
    onTestFinished(() => other.stop());
    const { port } = new URL(other.url);
    const { code, stderr } = await cli("emulator", "--port", port).end;
    expect(code).toBe(1);
    expect(stderr).toContain(`port ${port} on 127.0.0.1 is in use`);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test.for([
    ["--port", "eighty", "option '--port <number>': must be a number"],
    ["--operation-time", "soon", "option '--operation-time <seconds>': must be a number of seconds"],
    ["--behaviour", "getObject=500", "Use getObject=200|404|405"],
    ["--behaviour", "getobject=200", 'unknown switch "getobject"; did you mean "getObject"?'],
    ["--behaviour", "colour=red", "the switches are: operationMs, progress"],
    ["--fault", "lost", "must be one of reset, hang"],
    ["--fault", '{"kind":"status","statsu":500}', "statsu"],
    ["--token", "", "option '--token <token>': must not be empty"],
    ["--host", "", "option '--host <address>': must not be empty"],
    ["--host", "0.0.0.0", "--host 0.0.0.0 requires --token"],
    ["--prot", "80", "Did you mean --port?"],
  ] as const)("rejects %s %s", async ([option, value, words]) => {
    expect(await parseCommandLine("emulator", option, value)).toEqual({
      error: expect.stringContaining(words),
    });
  });

  test("prints the endpoint and the token as JSON, and requests as JSON lines", async () => {
    const { child, lines, end } = cli("emulator", "--port", "0", "--json", "--verbose");
    const [first = ""] = await take(lines, 1);
    const { endpoint, token } = JSON.parse(first);
    await fetch(`${endpoint}/projects?limit=1`, { headers: { authorization: `Bearer ${token}` } });
    const [second = ""] = await take(lines, 1);
    expect(JSON.parse(second)).toMatchObject({
      ...{ method: "GET", path: "/v1/projects", query: { limit: "1" }, status: 200 },
    });
    child.kill();
    expect(await end).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("the command line", () => {
  test("prints help and version, and rejects an unknown command with exit code 2", async () => {
    const [help, emulatorHelp, version, unknown] = await Promise.all([
      cli("--help").end,
      cli("emulator", "--help").end,
      cli("--version").end,
      cli("emulate").end,
    ]);
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining("emulator") });
    expect(emulatorHelp).toMatchObject({ code: 0, stdout: expect.stringContaining("getObject=200|404|405") });
    expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("Did you mean emulator?") });
  });
});

test("accepts a host that other machines can reach if it has a token", async () => {
  expect(await parseCommandLine("emulator", "--host", "0.0.0.0", "--token", "own")).toHaveProperty(
    "options.host",
    "0.0.0.0",
  );
});

test.for([
  ["http://127.0.0.1:8787/v1", false],
  ["http://[::1]:8787/v1", false],
  ["http://192.168.1.5:8787/v1", true],
  ["http://laptop.local:8787/v1", true],
] as const)("prints the settings for %s, with allowHttp: %s", ([endpoint, isAllowed]) => {
  const commands = greeting({ endpoint, token: "own" }).matchAll(/pulumi config set (?:--secret )?(.+)/g);
  const settings = new Map([...commands].map(([, pair = ""]) => pair.split(" ") as [string, string]));
  const sessions = new Sessions({});
  sessions.configure((key) => settings.get(key));
  expect(sessions.open().client.endpoint).toBe(endpoint);
  expect(settings.has("cloudinfra:allowHttp")).toBe(isAllowed);
});

describe("a fault on the command line", () => {
  test("is a kind, or a rule as JSON", () => {
    for (const kind of faultKinds) expect(parseFaultOption(kind)).toEqual({ fault: { kind } });
    const rule = {
      kind: "gateway",
      status: 520,
      body: "problem",
      method: "POST",
      problem: { detail: ["a"] },
    };
    expect(parseFaultOption(JSON.stringify(rule))).toEqual({ fault: rule });
    expect(parseFaultOption('{"kind":"reset","times":"all"}')).toEqual({
      fault: { kind: "reset", times: Number.POSITIVE_INFINITY },
    });
  });

  test("is rejected if it isn't JSON or has an invalid member", () => {
    for (const text of ["", "{", '{"kind":"reset","times":-1}', '{"kind":"status","status":42}', "{}"])
      expect(parseFaultOption(text), text).toHaveProperty("error");
  });
});

describe("a switch on the command line", () => {
  test("accepts every value that its help lists", () => {
    for (const [key, { allowed }] of Object.entries(behaviourSettings)) {
      for (const value of allowed.startsWith("<") ? [] : allowed.split("|")) {
        expect(parseBehaviourOption(`${key}=${value}`)).toHaveProperty("behaviour");
      }
    }
  });

  test("accepts every default, and parses it to the same value", () => {
    for (const [key, value] of Object.entries(defaultBehaviour)) {
      const isObject = typeof value === "object" && !Array.isArray(value);
      const text = isObject ? JSON.stringify(value) : String(value);
      expect(parseBehaviourOption(`${key}=${text}`)).toEqual({ behaviour: { [key]: value } });
    }
  });

  test("is rejected if its value is missing or invalid", () => {
    for (const text of [
      "operationMs",
      "operationMs=1.5",
      "pageSize=0",
      "failedStatus=",
      "extraFields=[1",
      "linkOrigin=here",
      "normalize=ids,colour",
    ]) {
      expect(parseBehaviourOption(text)).toHaveProperty("error");
    }
    expect(parseBehaviourOption("normalize=ids,trimmed")).toEqual({
      behaviour: { normalize: ["ids", "trimmed"] },
    });
    expect(parseBehaviourOption("failedStatus=a=b")).toEqual({ behaviour: { failedStatus: "a=b" } });
  });
});
