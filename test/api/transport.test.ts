import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { formatError } from "../../src/diagnostics/format";
import { deadlineIn } from "../../src/polling/clock";
import { waitForOperation } from "../../src/polling/wait";
import { FakeClock } from "../polling/fake-clock";
import { startRaw, trusted, wire } from "./raw";
import { clientOf, failureOf } from "./service";

const SECRET = "initial-password-5e1f";
const rest = `\r\ncontent-length: 40\r\n\r\n{"password":"${SECRET}"}`;
const MALFORMED = [
  ["an illegal header", `HTTP/1.1 202 Accepted\r\nx y: 1${rest}`],
  ["a control character", `HTTP/1.1 202 Accepted\r\nx-note: a\u0001b${rest}`],
  ["bare line feeds", `HTTP/1.1 202 Accepted\nx-note: 1\n\n{"password":"${SECRET}"}`],
  ["a bad chunk size", `HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n${SECRET}\r\n`],
  ["two lengths", `HTTP/1.1 202 Accepted\r\ncontent-length: 3\r\ncontent-length: 4${rest}`],
  ["another protocol", `SSH-2.0-OpenSSH_9.6 ${SECRET}\r\n`],
] as const;
const accepted = wire(
  202,
  { id: "op-1", status: "pending", progress: 0 },
  { location: "/v1/operations/op-1" },
);

describe.each(MALFORMED)("a reply with %s", (_what, malformed) => {
  it("makes the client retry a POST with the same key and body", async () => {
    const { port, requests } = await startRaw({
      onRequest: (socket, _request, index) => socket.write(index === 0 ? malformed : accepted),
    });
    const { client, call } = clientOf(`http://127.0.0.1:${port}`);
    const result = await client.instances.create('{"name":"web"}', "key-1", call);
    expect(result).toMatchObject({ kind: "operation", operation: { id: "op-1" } });
    expect(requests).toHaveLength(2);
    for (const request of requests) {
      expect(request).toContain("idempotency-key: key-1\r\n");
      expect(request).toContain('\r\n\r\n{"name":"web"}');
    }
  });

  it("leaves the outcome of a POST unknown, and the message has neither the rest of the reply nor a stack trace", async () => {
    const { port } = await startRaw({ onRequest: (socket) => socket.write(malformed) });
    const { client, call } = clientOf(`http://127.0.0.1:${port}`);
    const error = await failureOf(client.instances.create("{}", "key-1", call));
    expect(error).toMatchObject({ code: "unreachable", sent: true, attempts: 8 });
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain(SECRET);
    const words = formatError(error, { action: 'creating instance "web"' });
    expect(words).toContain('creating instance "web" failed: the reply was lost: ');
    expect(words).not.toContain("    at ");
  });
});

it("a malformed reply to a poll doesn't end the wait for the operation", async () => {
  const { port, requests } = await startRaw({
    onRequest: (socket, _request, index) =>
      socket.write(index < 20 ? MALFORMED[1][1] : wire(200, { id: "op-1", status: "done" })),
  });
  const origin = `http://127.0.0.1:${port}`;
  const { client, clock, call } = clientOf(origin);
  const first = { id: "op-1", url: `${origin}/v1/operations/op-1`, status: "pending" };
  const poll = (operation: typeof first) => client.operations.poll(operation, call);
  const deadline = deadlineIn(600_000, clock);
  expect(await waitForOperation(first, { poll, deadline, clock })).toMatchObject({ status: "done" });
  expect(requests).toHaveLength(21);
});

describe("a connection that breaks after the request", () => {
  it.each([
    ["is closed", (plain: { destroy(): void }) => plain.destroy()],
    ["is reset", (plain: { resetAndDestroy(): void }) => plain.resetAndDestroy()],
    [
      "carries bytes that aren't TLS",
      (plain: { end(text: string): void }) => plain.end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    ],
  ])("leaves the outcome unknown if TLS %s", async (_how, breakOff) => {
    const { authority, dispatcher } = await trusted();
    const { port, requests } = await startRaw(
      {
        onRequest: (socket, _request, index, plain) =>
          index === 0 ? breakOff(plain) : socket.write(wire(422, { code: "no" })),
      },
      authority,
    );
    const { client, call } = clientOf(`https://localhost:${port}`, { dispatcher });
    const error = await failureOf(client.instances.create("{}", "key-1", call));
    expect(error).toMatchObject({ code: "refused", status: 422, sent: true });
    expect(requests).toHaveLength(2);
  });
});

describe("a connection that is never established", () => {
  it.each([
    ["closes", (socket: { destroy(): void }) => socket.destroy()],
    ["is reset", (socket: { resetAndDestroy(): void }) => socket.resetAndDestroy()],
    ["answers in plain text", (socket: { end(text: string): void }) => socket.end("220 ready\r\n")],
  ])("sent nothing if it %s during the TLS handshake", async (_how, onConnection) => {
    const { dispatcher } = await trusted();
    const { port } = await startRaw({ onConnection });
    const { client, call } = clientOf(`https://localhost:${port}`, { dispatcher });
    const error = await failureOf(client.instances.create("{}", "key-1", call));
    expect(error).toMatchObject({ code: "unreachable", sent: false });
    expect(formatError(error, { action: "creating" })).toContain("the service can't be reached: ");
  });

  it("sent nothing if the caller cancels it or it times out during the TLS handshake", async () => {
    for (const end of ["caller", "deadline"] as const) {
      const { dispatcher } = await trusted();
      const controller = new AbortController();
      const clock = new FakeClock();
      const { port } = await startRaw({
        onConnection: () =>
          end === "caller" ? controller.abort(new Error("Ctrl-C")) : void clock.advance(20_000),
      });
      const { client } = clientOf(`https://localhost:${port}`, { dispatcher, clock });
      const call = { deadline: deadlineIn(20_000, clock), signal: controller.signal };
      expect(await failureOf(client.instances.create("{}", "key-1", call))).toMatchObject({
        code: end === "caller" ? "aborted" : "timeout",
        sent: false,
      });
    }
  });

  it("sent nothing if the certificate is another host's, and isn't retried", async () => {
    const { authority, dispatcher } = await trusted();
    const { port, requests } = await startRaw({}, authority);
    const { client, call } = clientOf(`https://127.0.0.1:${port}`, { dispatcher });
    expect(await failureOf(client.instances.create("{}", "key-1", call))).toMatchObject({
      code: "unreachable",
      sent: false,
      attempts: 1,
    });
    expect(requests).toEqual([]);
  });
});
