import fc from "fast-check";

/** Placeholders for the token and a secret input of a case. See `spelled`. */
export const TOKEN = "@token@";
export const SECRET = "@secret@";

/** Depths that are too deep for recursive functions, and some that aren't. */
const depths = fc.constantFrom(3, 70, 200, 3_000, 20_000, 20_000);

const deepList = depths.map((depth) => "[".repeat(depth) + "]".repeat(depth));
const deepMap = depths.map((depth) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);

const oddTexts = [
  "",
  " ",
  ".",
  "..",
  "/",
  "//",
  "null",
  "done",
  "failed",
  "error",
  "RUNNING",
  "deleted",
  "-1",
  "1e999",
  "__proto__",
  "\u0000",
  "\ud800",
  "\u202e",
  "\u001b[31mred",
  "a\nb\r\n",
  "%",
  "%2e%2e",
  "%E0%A4%A",
  "é",
  "🙂",
  "x".repeat(2_000),
  '"',
  "W/",
  'W/"',
  "ins-000001x",
  "op-000001x",
  "prj-000001x",
  "/v1/operations/",
  "/v1/operations/..",
  "/v1/instances/ins-none",
  "?a=b",
  "http://elsewhere.example/v1/operations/op-1",
  "http://elsewhere.example/v1/instances/ins-1",
  "//elsewhere.example/v1/instances/x",
  "javascript:1",
  "http://[",
  "2026-01-01",
  "2026-99-99T99:99:99Z",
  "0001-01-01T00:00:00Z",
  "203.0.113.9",
  TOKEN,
  SECRET,
  `${TOKEN} ${SECRET}`,
  `/v1/operations/${TOKEN}`,
];

export const oddText = fc.oneof(
  fc.constantFrom(...oddTexts),
  fc.string({ maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 6 }),
);

const oddJson = [
  "null",
  "true",
  "false",
  "0",
  "-0",
  "-1",
  "1.5",
  "1e999",
  "-1e999",
  "1e308",
  "5e-324",
  "9007199254740993",
  "123456789012345678901234567890",
  "[]",
  "{}",
  "[[]]",
  "[null]",
  '{"id":null}',
  '{"id":{}}',
  '{"__proto__":{"status":"done"}}',
  '{"__proto__":null,"constructor":1,"toString":2,"hasOwnProperty":3}',
  '{"id":"a","id":"b"}',
  '{"":""}',
  '{"length":-1}',
  '{"then":"x"}',
  '{"toJSON":1}',
  '{"error":{"error":{"detail":"deep"}}}',
];

/** Values of any form as JSON text, including some that no program would write. */
export const nastyJson = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...oddJson) },
  { weight: 4, arbitrary: oddText.map((text) => JSON.stringify(text)) },
  { weight: 2, arbitrary: fc.json({ maxDepth: 3 }) },
  { weight: 2, arbitrary: deepList },
  { weight: 2, arbitrary: deepMap },
);

/** Values of any form, as far as a state or a program's arguments can contain them. */
export const nastyValue = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 1e308, [], {}, [null], [[]], { id: null }),
  },
  { weight: 3, arbitrary: oddText.filter((text) => !text.includes("@")) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(5, 70, 500)
      .map((depth): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth))),
  },
  { weight: 1, arbitrary: fc.constant<unknown>(JSON.parse('{"__proto__":{"a":"b"},"constructor":"c"}')) },
);

/** How careless services encode what they received. */
export type Spelling = "as it is" | "escaped" | "slashes escaped" | "percent";
export const spelling = fc.constantFrom<Spelling>("as it is", "escaped", "slashes escaped", "percent");

/** Encodes a string for the inside of a JSON string. "as it is" also fits any other body. */
export function spelled(text: string, how: Spelling): string {
  const inside = JSON.stringify(text).slice(1, -1);
  if (how === "slashes escaped") return inside.replaceAll("/", "\\/");
  if (how === "percent") return encodeURIComponent(text);
  if (how === "as it is") return inside;
  return [...Array(text.length).keys()]
    .map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`)
    .join("");
}
