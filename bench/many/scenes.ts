import type { ServiceOptions } from "../service/messages";

/** A rate limit for the creations. */
export interface Scene {
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly limit?: ServiceOptions["limit"];
}

export function scenesOf(perSecond: number): Scene[] {
  const limit = { perSecond };
  return [
    { name: "none", settings: {} },
    { name: `maxRequestsPerSecond: ${perSecond}`, settings: { maxRequestsPerSecond: String(perSecond) } },
    {
      name: `service: ${perSecond} per s, with Retry-After`,
      settings: {},
      limit: { ...limit, retryAfter: 1 },
    },
    { name: `service: ${perSecond} per s, without it`, settings: {}, limit },
  ];
}
