/**
 * Every code of an error and what it means, in the order in which a person meets them. The codes are stable: match them instead of
 * words or classes. `docs/errors.md` is made of this table and of the one in hints.ts.
 */
export const MEANINGS = {
  config_missing: "A setting that is needed is not there.",
  config_invalid: "A setting can't be used: the endpoint, the source of the token, a number, a duration.",
  input_invalid: "An argument can't be used, or a file that a command was given.",
  unauthorized: "The service does not accept the token (401).",
  forbidden:
    "The token is accepted, but may not do this (403), or it belongs to an account that shows nothing at all.",
  not_found: "What is asked for is not there (404, 410).",
  refused: "The service refuses the request (another 4xx); most often a property is to blame.",
  conflict: "Something else is in the way (409): a name that is taken, or a change in progress.",
  revision_conflict: "Somebody else changed it since the state was written (412). Nothing was overwritten.",
  rate_limited: "The service was asked too often (429), and went on saying so.",
  unavailable: "The service fails (5xx), and went on failing.",
  unreachable:
    "No HTTP reply that can be read: the name, the network, TLS, a proxy, or a connection that broke.",
  timeout: "The time allowed has passed.",
  not_this_service:
    "Something answers at the endpoint, but it is not this service: a page, a redirect, another API.",
  bad_reply: "The service answers, but in a way that breaks the rules of its API.",
  unsupported: "The service does not offer this (405, 501).",
  operation_failed: "The service accepted the request, worked on it, and failed.",
  operation_timeout: "The service accepted the request, and was not done in the time allowed.",
  operation_unknown: "The service accepted the request, but no longer knows the operation.",
  no_result: "The operation is done, but what it made is not to be found.",
  not_applied: "The service accepted a change, and did not make it.",
  provider_changed:
    "An unfinished creation began with another provider than the one that the resource has now.",
  endpoint_changed: "The object was made at another endpoint than the one that is set now.",
  key_expired: "A creation that was cut off can't be settled any more: its key is older than a day (§4.7).",
  import_differs: "What `import` names can't become what the program asks for without being replaced.",
  aborted: "It was interrupted.",
} as const;

/** The kind of a failure, such as `"revision_conflict"`. `docs/errors.md` lists all of them. */
export type ErrorCode = keyof typeof MEANINGS;

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(MEANINGS, code);
}
