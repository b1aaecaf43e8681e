import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { formatError } from "../../src/diagnostics/format";
import { deadlineIn } from "../../src/polling/clock";
import { type Session, Sessions } from "../../src/provider/context";
import { REPOSITORY } from "../harness/modules";
import { FakeClock } from "../polling/fake-clock";
import { type Authority, makeAuthority, startProxy, startServer } from "./network";
import { failureOf } from "./sources";

const ANSWERS = {
  "/v1/projects": { items: [{ id: "p-1", name: "shop", region: "eu" }], next_cursor: null },
  "/token": { access_token: "t-1", token_type: "Bearer", expires_in: 60 },
};
const API = "https://api.example.test";
const STS = "https://sts.example.test";

let authority: Authority;
let folder: string;
beforeAll(async () => {
  authority = await makeAuthority("api.example.test", "sts.example.test");
  folder = mkdtempSync(path.join(tmpdir(), "connections-"));
  writeFileSync(path.join(folder, "ca.pem"), `# of the test\n${authority.ca}`);
});
afterAll(() => rmSync(folder, { recursive: true }));

const opened: Session[] = [];
afterEach(async () => {
  for (const session of opened.splice(0)) await session.close();
});

const caFile = (): string => path.join(folder, "ca.pem");

/** A session as a process with this environment has it. */
function open(settings: Readonly<Record<string, string>>, env: NodeJS.ProcessEnv = {}): Session {
  const all: Record<string, string> = { endpoint: API, token: "t-0", ...settings };
  const sessions = new Sessions(env, new FakeClock({ auto: true }));
  sessions.configure((key) => all[key.replace("cloudinfra:", "")]);
  const session = sessions.open();
  opened.push(session);
  return session;
}

const look = ({ client, clock }: Session) => client.projects.list({ deadline: deadlineIn(600_000, clock) });
const wordsOf = async (session: Session): Promise<string> =>
  formatError(await failureOf(look(session)), { action: "reading" });

describe("a proxy", () => {
  test.each(["HTTPS_PROXY", "https_proxy"])(
    "in %s is used for the service and the token exchange",
    async (name) => {
      const { port, seen } = await startServer(ANSWERS, authority);
      const proxy = await startProxy(port);
      const session = open(
        { token: "", oidcTokenEndpoint: `${STS}/token`, oidcSubject: "env:ID_TOKEN", caFile: caFile() },
        { [name]: proxy.url, ID_TOKEN: "subject" },
      );
      expect(await look(session)).toHaveLength(1);
      expect(seen).toEqual(["POST /token", "GET /v1/projects"]);
      expect(proxy.asked).toEqual(["CONNECT sts.example.test:443", "CONNECT api.example.test:443"]);
    },
  );

  test("is not used for the hosts in NO_PROXY, or for this machine", async () => {
    const { port } = await startServer(ANSWERS);
    const proxy = await startProxy(port);
    const env = { HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url };
    for (const host of ["127.0.0.1", "localhost"])
      expect(await look(open({ endpoint: `http://${host}:${port}` }, env))).toHaveLength(1);
    for (const NO_PROXY of ["*", "0.0.0.0", "other.test, 0.0.0.0"])
      expect(await wordsOf(open({ endpoint: "https://0.0.0.0:1" }, { ...env, NO_PROXY }))).toContain(
        "0.0.0.0:1",
      );
    expect(proxy.asked).toEqual([]);
  });

  test("is not used for any address of this machine, because http is allowed for all of them", async () => {
    const { port } = await startServer(ANSWERS);
    const proxy = await startProxy(port);
    const env = { HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url };
    for (const host of ["127.0.0.2", "127.1.2.3"])
      expect(await wordsOf(open({ endpoint: `http://${host}:1` }, env))).toContain(`${host}:1`);
    expect(proxy.asked).toEqual([]);
  });

  test("receives the password in its URL", async () => {
    const { port } = await startServer(ANSWERS, authority);
    const pass = `Basic ${Buffer.from("user:pass").toString("base64")}`;
    const proxy = await startProxy(port, ({ headers }) =>
      headers["proxy-authorization"] === pass ? undefined : 407,
    );
    const url = proxy.url.replace("//", "//user:pass@");
    expect(await look(open({ caFile: caFile() }, { HTTPS_PROXY: url }))).toHaveLength(1);
    const words = await wordsOf(open({ caFile: caFile() }, { HTTPS_PROXY: proxy.url }));
    expect(words).toContain("the service can't be reached: the proxy returned 407");
    expect(words).toContain("hint: Set the proxy's user name and password");
    expect(proxy.asked).toHaveLength(2); // asking again brings nothing
  });

  test("that can't reach the service causes a retry, because the service has not received the request", async () => {
    const { port } = await startServer(ANSWERS, authority);
    let refused = 0;
    const proxy = await startProxy(port, () => (refused++ < 2 ? 502 : undefined));
    expect(await look(open({ caFile: caFile() }, { HTTPS_PROXY: proxy.url }))).toHaveLength(1);
    const blocked = await startProxy(port, () => 403);
    const error = await failureOf(look(open({ caFile: caFile() }, { HTTPS_PROXY: blocked.url })));
    expect(error).toMatchObject({ code: "unreachable", attempts: 1, sent: false });
    expect(error.hint).toContain("NO_PROXY");
  });

  test("with an invalid URL causes an error without the URL", () => {
    expect(() => open({}, { HTTPS_PROXY: "http://user:secret@no host" })).toThrow(
      /^HTTPS_PROXY or HTTP_PROXY isn't a valid proxy address$/,
    );
  });
});

describe("a private certificate authority", () => {
  test("is not trusted by default, and the error says how to add it", async () => {
    const { port } = await startServer(ANSWERS, authority);
    const proxy = await startProxy(port);
    const words = await wordsOf(open({}, { HTTPS_PROXY: proxy.url }));
    expect(words).toContain("the service can't be reached: self-signed certificate in certificate chain");
    expect(words).toContain("hint: Set `cloudinfra:caFile` or NODE_EXTRA_CA_CERTS to a PEM file");
    expect(proxy.asked).toHaveLength(1);
  });

  test("does not make a certificate valid for another host", async () => {
    const { port } = await startServer(ANSWERS, authority);
    const proxy = await startProxy(port);
    const session = open(
      { endpoint: "https://other.example.test", caFile: caFile() },
      { HTTPS_PROXY: proxy.url },
    );
    expect(await wordsOf(session)).toContain(
      "hint: Check the host of the endpoint: the certificate is for a different host",
    );
  });

  test("is not suggested if the server doesn't use TLS", async () => {
    const { port } = await startServer(ANSWERS);
    const words = await wordsOf(open({ endpoint: `https://localhost:${port}` }));
    expect(words).toContain("hint: Check the host and port of the endpoint. The server doesn't use TLS");
  });

  test.each([
    ["none.pem", undefined, "can't be read: ENOENT"],
    ["empty.pem", "", "contains no certificate"],
    ["key.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "contains no certificate"],
    [
      "damaged.pem",
      "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
      "contains a damaged certificate (number 1)",
    ],
  ])("in %s causes an error that names the file", (name, text, why) => {
    const file = path.join(folder, name);
    if (text !== undefined) writeFileSync(file, text);
    expect(() => open({ caFile: file })).toThrow(`the CA file ${file} from cloudinfra:caFile ${why}`);
  });

  test.each(["caFile", "NODE_EXTRA_CA_CERTS", "both"])(
    "is trusted in addition to those of Node.js with %s",
    async (by) => {
      const script = `
      const { openConnections } = require("./dist/api/connections.js");
      const { readFileSync } = require("node:fs");
      const authorities = process.env.CA ? [readFileSync(process.env.CA, "utf8")] : undefined;
      const dispatcher = openConnections({ env: process.env, authorities });
      dispatcher.send({ origin: "${API}", path: "/v1/projects", method: "GET" })
        .then(({ statusCode }) => console.log(statusCode))
        .finally(() => dispatcher.close());`;
      const { port } = await startServer(ANSWERS, authority);
      const proxy = await startProxy(port);
      const other = await makeAuthority("other.example.test");
      const otherFile = path.join(folder, "other.pem");
      writeFileSync(otherFile, other.ca);
      const env = {
        HTTPS_PROXY: proxy.url,
        ...(by === "caFile" && { CA: caFile() }),
        ...(by === "both" && { CA: otherFile }),
        ...(by !== "caFile" && { NODE_EXTRA_CA_CERTS: caFile() }),
      };
      const ran = await promisify(execFile)(process.execPath, ["-e", script], { cwd: REPOSITORY, env });
      expect(ran.stdout).toBe("200\n");
    },
  );
});
