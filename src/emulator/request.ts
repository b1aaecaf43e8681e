import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

/** A request whose complete body has arrived. */
export interface EmulatorRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Whether the body exceeded `maxBodyBytes` and was dropped. */
  readonly tooLarge: boolean;
}

/** The maximum size of a request body in bytes. The specification doesn't define a limit. */
export const maxBodyBytes = 1024 * 1024;

/** Reads a request. Resolves to `undefined` if the client disconnects before the body is complete. */
export function readRequest(incoming: IncomingMessage): Promise<EmulatorRequest | undefined> {
  const [path = "/", query = ""] = (incoming.url ?? "/").split(/\?(.*)/s);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBodyBytes) chunks.push(chunk);
    });
    incoming.once("end", () => {
      const tooLarge = size > maxBodyBytes;
      resolve({
        method: incoming.method ?? "GET",
        path,
        query: new URLSearchParams(query),
        headers: incoming.headers,
        body: tooLarge ? "" : Buffer.concat(chunks).toString("utf8"),
        tooLarge,
      });
    });
    incoming.once("error", () => resolve(undefined));
    incoming.once("close", () => resolve(undefined));
  });
}

/** Compares the request's bearer token with the expected token (§5). */
export function authorization(request: EmulatorRequest, token: string): "ok" | "missing" | "wrong" {
  const { authorization: header } = request.headers;
  if (header === undefined) return "missing";
  return /^bearer +(.*)$/i.exec(header)?.[1] === token ? "ok" : "wrong";
}

/** A request as the emulator received it. All occurrences of the token are replaced by `[token]`. */
export interface ReceivedRequest {
  /** The time of arrival on the emulator's clock, in milliseconds since 1970. */
  readonly at: number;
  /** The method in capitals, such as `GET`. */
  readonly method: string;
  /** The path without origin and query, such as `/v1/instances`. */
  readonly path: string;
  /** The decoded query parameters. */
  readonly query: Readonly<Record<string, string>>;
  /** All headers. The value of `authorization` is only `ok`, `missing` or `wrong`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as sent, or an empty string if it exceeded 1 MiB. */
  readonly body: string;
}

/** Returns the part of a request that the log contains, without the token. */
export function withoutToken(request: EmulatorRequest, at: number, token: string): ReceivedRequest {
  const hide = (text: string) => text.replaceAll(token, "[token]");
  const { method, path, body } = request;
  const query = [...request.query].map(([name, value]) => [hide(name), hide(value)]);
  const headers = Object.entries(request.headers).map(([name, value]) => [name, hide(String(value))]);
  return {
    ...{ at, method, path: hide(path), query: Object.fromEntries(query), body: hide(body) },
    headers: { ...Object.fromEntries(headers), authorization: authorization(request, token) },
  };
}
