import { openConnections, readCertificates } from "../api/connections";
import { parseEndpoint } from "../api/endpoint";
import { headersOf, urlOf } from "../api/request";
import { isTransient, retryAfterMs } from "../api/retry";
import { exchange, type WireReply } from "../api/transport";
import type { Settings } from "../config/read-settings";
import { tokenSource } from "../config/token-source";
import { CloudInfraError } from "../diagnostics/error";
import { redact } from "../diagnostics/redact";
import { isMap, type WireFields } from "../model/kinds";
import { type Clock, limitOf } from "../polling/clock";

/** A reply to one request of the probe. */
export interface ProbeReply extends WireReply {
  /** Time from the start of the request to the end of the reply, in milliseconds. */
  readonly tookMs: number;
  /** The JSON of the body, if it is an object. Otherwise, an empty object. */
  readonly json: WireFields;
}

/** The service under examination. It sends GET requests only, and returns replies of any status. */
export interface ProbedService {
  /** Normalized base URL, which ends in `/v1`. */
  readonly base: string;
  /** Where the token comes from, for messages. */
  readonly tokenOrigin: string;
  /** The tokens. Nothing that is printed or written may contain them, but replies may. */
  readonly tokens: readonly string[];
  /** All replies so far. */
  readonly replies: readonly ProbeReply[];
  /**
   * Sends one GET. Waits and repeats it up to twice if the reply is a temporary failure.
   *
   * @param url a path below the base URL, or a whole URL of the same origin
   * @param options.token another token than that of the settings, or `null` for none
   * @throws CloudInfraError `unreachable` or `timeout` if there is no reply
   */
  get(
    url: string,
    options?: { readonly query?: Readonly<Record<string, string>>; readonly token?: string | null },
  ): Promise<ProbeReply>;
  /** Closes the connections. */
  close(): Promise<void>;
}

const TIMEOUT_MS = 30_000;
const MAX_ATTEMPTS = 3;
const MAX_PAUSE_MS = 20_000;

/**
 * Opens the service of some settings.
 *
 * @throws CloudInfraError if a setting is invalid or there is no token
 */
export async function openService(
  settings: Settings,
  env: NodeJS.ProcessEnv,
  clock: Clock,
): Promise<ProbedService> {
  const { allowHttp, caFile, concurrency } = settings;
  const authorities = caFile === undefined ? undefined : readCertificates(caFile);
  const connections = openConnections({ env, authorities, concurrency });
  const random = Math.random;
  const source = tokenSource(settings.token, { clock, dispatcher: connections, env, allowHttp, random });
  const endpoint = parseEndpoint(settings.endpoint, { allowHttp });
  const replies: ProbeReply[] = [];
  const ownToken = await source.get().catch(async (error: unknown) => {
    await connections.close();
    throw error;
  });
  const clean = (text: string): string => redact(text, [ownToken]);

  async function attempt(url: URL, headers: Record<string, string>): Promise<ProbeReply> {
    const started = clock.now();
    const limit = limitOf(TIMEOUT_MS, clock);
    const options = { clean, signal: limit.signal, delivery: { neverSent: true } };
    const result = await exchange(connections, { method: "GET", url, headers }, options).finally(() =>
      limit.release(),
    );
    if (result.kind === "reply") {
      const reply = { ...result.reply, json: jsonOf(result.reply), tookMs: clock.now() - started };
      replies.push(reply);
      return reply;
    }
    if (limit.signal.aborted || result.kind === "timeout")
      throw new CloudInfraError("timeout", `no reply within ${TIMEOUT_MS / 1000} s`, {
        method: "GET",
        path: url.pathname,
        hint: "Check that the service is running and that no firewall blocks it",
      });
    const { description, hint = "Make sure that the address is correct and that this machine can reach it" } =
      result.failure;
    throw new CloudInfraError("unreachable", `the service can't be reached: ${description}`, {
      method: "GET",
      path: url.pathname,
      hint,
    });
  }

  return {
    base: endpoint.base,
    tokenOrigin: source.origin,
    tokens: [ownToken],
    replies,
    async get(path, { query = {}, token = ownToken } = {}) {
      const request = { method: "GET", path, query } as const;
      const url = urlOf(request, endpoint);
      const headers = headersOf(request, token ?? undefined);
      for (let attempts = 1; ; attempts++) {
        const reply = await attempt(url, headers);
        if (!isTransient(reply.status) || attempts === MAX_ATTEMPTS) return reply;
        await clock.sleep(Math.min(retryAfterMs(reply.header) ?? 500 * 2 ** attempts, MAX_PAUSE_MS));
      }
    },
    close: () => connections.close(),
  };
}

/** Returns the JSON of a reply if it is an object. Otherwise, returns an empty object. */
export function jsonOf({ body }: WireReply): WireFields {
  return body.kind === "json" && isMap(body.value) ? body.value : {};
}
