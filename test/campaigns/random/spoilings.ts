import fc from "fast-check";
import { nastyJson, oddText, SECRET, spelling, TOKEN } from "./nasty";
import type { Edit, Planned, Spoiling } from "./spoiling";

/** Codes of undici and Node for connections that weren't established, and for those that broke. */
const NOT_ESTABLISHED = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "ERR_SSL_WRONG_VERSION_NUMBER",
];
const BROKEN = [
  ...[
    "ECONNRESET",
    "EPROTO",
    "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC",
    "EPIPE",
    "ETIMEDOUT",
    "UND_ERR_SOCKET",
    "UND_ERR_HEADERS_TIMEOUT",
    "UND_ERR_BODY_TIMEOUT",
  ],
  ...[
    "UND_ERR_HEADERS_OVERFLOW",
    "HPE_INVALID_CONSTANT",
    "HPE_INVALID_CONTENT_LENGTH",
    "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  ],
];
/** Status codes after which the outcome is unknown. */
const INDEFINITE = [408, 425, 500, 501, 502, 503, 504, 507, 520, 522, 525, 530, 598, 599];
const REFUSALS = [400, 401, 403, 409, 412, 413, 415, 422, 428, 429, 451];
const LIES = [200, 201, 202, 204, 206, 299, 301, 303, 307, 400, 404, 405, 410, 501];

const header = fc.constantFrom("location", "etag", "retry-after", "date", "content-type", "x-trace");
const retryAfters = [
  ...["0", "1", "1.5", "-5", "NaN", "", "1e9", "99999999999999999999", "9".repeat(400), "12 apples", "soon"],
  ...["Wed, 21 Oct 2015 07:28:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 99 Foo 2026 99:99:99 GMT"],
];
const contentTypes = [
  "text/html",
  "application/json; charset=utf-16",
  "",
  "application/problem+json",
  "multipart/mixed",
];

const passingHeaders = fc.dictionary(
  fc.constantFrom("retry-after", "date", "content-type", "x-trace"),
  fc.oneof(
    fc.constantFrom(...retryAfters, ...contentTypes),
    fc.array(fc.constantFrom(...retryAfters), { minLength: 2, maxLength: 3 }),
  ),
  { maxKeys: 3 },
);
const linkHeaders = fc.dictionary(
  header,
  fc.oneof(oddText, fc.array(oddText, { minLength: 2, maxLength: 2 })),
  { minKeys: 1, maxKeys: 2 },
);

/** Lengths near the limits at which readers truncate replies, so that they cut the text after it in two. */
const padding = fc.oneof(fc.integer({ min: 150, max: 200 }), fc.integer({ min: 960, max: 1_000 }));
const said = fc.oneof(
  fc.constantFrom(
    ...[
      "no",
      `you sent ${TOKEN}`,
      `bad ${SECRET}`,
      `${TOKEN}${SECRET}`,
      "in progress",
      "idempotency key reused",
    ],
  ),
  fc.tuple(padding, fc.constantFrom(TOKEN, SECRET)).map(([length, echo]) => "x".repeat(length) + echo),
);
const problem = fc
  .dictionary(
    fc.constantFrom(
      "type",
      "title",
      "status",
      "detail",
      "instance",
      "code",
      "trace_id",
      "message",
      "errors",
      "error",
    ),
    fc.oneof(
      { weight: 3, arbitrary: said.map((text) => JSON.stringify(text)) },
      { weight: 1, arbitrary: nastyJson },
      {
        weight: 1,
        arbitrary: fc
          .tuple(said, oddText)
          .map(([detail, pointer]) =>
            JSON.stringify([{ detail, pointer, code: TOKEN }, { field: SECRET }, detail]),
          ),
      },
    ),
  )
  .map((members) => `{${Object.entries(members).map(([name, json]) => `${JSON.stringify(name)}:${json}`)}}`);
const wholeBody = fc.oneof(
  { weight: 5, arbitrary: problem },
  { weight: 2, arbitrary: nastyJson },
  { weight: 2, arbitrary: said.map((text) => `<html><script>x</script><h1>${text}</h1>`) },
  { weight: 1, arbitrary: said.map((text) => `{"detail":"${text}`) },
  { weight: 1, arbitrary: said },
  { weight: 1, arbitrary: fc.constantFrom("", " ", "\ufeff{}", "<", "{", '"', "\u0000", "nul") },
);

const anyBool = fc.boolean();
const passing: fc.Arbitrary<Spoiling>[] = [
  fc.record({
    kind: fc.constant("connection"),
    code: fc.constantFrom(...NOT_ESTABLISHED),
    established: fc.constant(false),
    worked: fc.constant(false),
  }),
  fc.record({
    kind: fc.constant("connection"),
    code: fc.constantFrom(...BROKEN),
    established: fc.constant(true),
    worked: anyBool,
  }),
  fc.record({
    kind: fc.constant("malformed"),
    code: fc.constantFrom(undefined, "INVALID_HEADER_TOKEN", "INVALID_CHUNK_SIZE", "CR_EXPECTED"),
    worked: anyBool,
  }),
  fc.record({ kind: fc.constant("gzip") }),
  fc.record({ kind: fc.constant("silence"), worked: anyBool }),
  fc.record({ kind: fc.constant("slow"), ms: fc.constantFrom(10, 5_000, 59_000, 61_000, 600_000) }),
  fc.record({
    kind: fc.constant("cut"),
    share: fc.constantFrom(0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99),
    broken: anyBool,
  }),
  fc.record({
    kind: fc.constant("refusal"),
    status: fc.constantFrom(...INDEFINITE),
    worked: anyBool,
    body: wholeBody,
    headers: passingHeaders,
    spelling,
  }),
  fc.record({
    kind: fc.constant("decorated"),
    fields: fc.array(
      fc.tuple(
        fc.constantFrom("extra", "__proto__", "constructor", "then", "length", "password", "toJSON"),
        nastyJson,
      ),
      { maxLength: 3 },
    ),
    headers: passingHeaders,
  }),
];
const refusal: fc.Arbitrary<Spoiling> = fc.record({
  kind: fc.constant("refusal"),
  status: fc.constantFrom(...REFUSALS),
  worked: fc.constant(false),
  body: wholeBody,
  headers: passingHeaders,
  spelling,
});
const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.nat({ max: 30 }),
  how: fc.constantFrom("replace", "replace", "drop", "double", "add"),
  name: fc.constantFrom(
    "id",
    "status",
    "name",
    "error",
    "result_url",
    "items",
    "next_cursor",
    "has_more",
    "__proto__",
    "labels",
  ),
  json: nastyJson,
});
const lies: fc.Arbitrary<Spoiling>[] = [
  fc.record({ kind: fc.constant("edited"), edits: fc.array(edit, { minLength: 1, maxLength: 3 }) }),
  fc.record({ kind: fc.constant("instead"), status: fc.constantFrom(...LIES), body: wholeBody }),
  fc.record({ kind: fc.constant("another status"), status: fc.constantFrom(...LIES) }),
  fc.record({
    kind: fc.constant("another object"),
    id: fc.constantFrom("ins-000001x", "prj-000001x", "x", ".."),
  }),
  fc.record({ kind: fc.constant("links"), headers: linkHeaders }),
  fc.record({
    kind: fc.constant("list"),
    how: fc.constantFrom("same cursor", "no cursor", "shorter", "doubled", "endless"),
  }),
];

const planned = (spoiling: fc.Arbitrary<Spoiling>): fc.Arbitrary<Planned> =>
  fc.record({ at: fc.noBias(fc.nat({ max: 30 })), times: fc.constantFrom(1, 1, 1, 2, 3, 9, 30), spoiling });

/** The faults of a case: none, temporary faults without lies, or any. */
export const spoilings: fc.Arbitrary<readonly Planned[]> = fc.oneof(
  { weight: 1, arbitrary: fc.constant([]) },
  { weight: 4, arbitrary: fc.array(planned(fc.oneof(...passing)), { minLength: 1, maxLength: 5 }) },
  {
    weight: 6,
    arbitrary: fc.array(planned(fc.oneof(...passing, refusal, ...lies, ...lies)), {
      minLength: 1,
      maxLength: 5,
    }),
  },
);
