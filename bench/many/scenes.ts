import type { ServiceOptions } from "../service/messages";

/** Limits under which many creations are made. */
export interface Scene {
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly limit?: ServiceOptions["limit"];
}

export function scenesOf(perSecond: number): Scene[] {
  const limit = { perSecond };
  return [
    { name: "no limit", settings: {} },
    { name: `ours: ${perSecond} a second`, settings: { maxRequestsPerSecond: String(perSecond) } },
    {
      name: `the service's: ${perSecond} a second, with Retry-After`,
      settings: {},
      limit: { ...limit, retryAfter: 1 },
    },
    { name: `the service's: ${perSecond} a second`, settings: {}, limit },
  ];
}
