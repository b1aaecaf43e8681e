import { onTestFinished } from "vitest";
import { type Behaviour, type Emulator, type EmulatorOptions, startEmulator } from "../../src/emulator";

/** A reply as it was received. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON object in `text`, or an empty object. */
  readonly body: Record<string, unknown>;
}

/** An emulator with a clock that the test controls. It stops when the test ends. */
export interface TestService {
  readonly emulator: Emulator;
  readonly advance: (ms: number) => void;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Adds a project and an instance in it. Returns their ids. */
  given(fields?: Record<string, unknown>): { project: string; instance: string };
}

const noon = Date.UTC(2026, 0, 2, 12, 0, 0, 250);

export async function open(
  behaviour: Partial<Behaviour> = {},
  options: EmulatorOptions = {},
): Promise<TestService> {
  let now = noon;
  const emulator = await startEmulator({
    now: () => now,
    behaviour: { operationMs: 1000, ...behaviour },
    ...options,
  });
  onTestFinished(() => emulator.stop());
  return {
    emulator,
    advance: (ms) => {
      now += ms;
    },
    call: (method, path, body, headers) => call(emulator, method, path, body, headers),
    given: (fields) => {
      const project = emulator.addProject({ name: "shop" }).id;
      return { project, instance: emulator.addInstance({ project, ...fields }).id };
    },
  };
}

/** Sends a request with the token. A string is sent as it is, and any other body as JSON. */
async function call(
  { url, token }: Emulator,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(path.startsWith("http") ? path : url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") ?? false;
  const parsed: Record<string, unknown> = isJson && text !== "" ? JSON.parse(text) : {};
  return { status: response.status, headers: response.headers, text, body: parsed };
}

export function instanceBody(project: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { project, name: "web", image: "debian-13", flavor: "m1.small", network: "default", ...fields };
}
