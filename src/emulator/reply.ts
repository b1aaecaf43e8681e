/** A whole answer, as text: so that it can be kept and sent again byte for byte, cut off, or passed off as something else. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function json(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
}

export function noContent(headers: Record<string, string> = {}): Reply {
  return { status: 204, headers, body: "" };
}
