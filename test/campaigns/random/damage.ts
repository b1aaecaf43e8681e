import fc from "fast-check";
import type { Properties } from "../../../src/model/state";
import type { Saved } from "../../provider/service";
import { nastyValue, oddText } from "./nasty";

/** Damage to the data of earlier runs, in the state or in the journal's files. */
export type Damage =
  | { readonly of: "state"; readonly properties: Properties }
  | { readonly of: "inputs"; readonly properties: Properties }
  | { readonly of: "pending"; readonly pending: unknown; readonly placeholder: string | undefined }
  | {
      readonly of: "journal";
      readonly how: "cut" | "replaced" | "line" | "edited";
      readonly text: string;
      readonly members: Properties;
    };

const hidden = fc.constantFrom(
  ...[
    "__pending",
    "__words",
    "__timeouts",
    "__endpoint",
    "__secrets",
    "__key",
    "__keyAt",
    "__urn",
    "__autonamed",
  ],
  ...["__import", "revision", "additionalProperties", "createdAt", "ipAddress", "status", "url"],
);
const endpoint = fc.constantFrom(
  "https://api.example.com/v1",
  "HTTPS://API.EXAMPLE.COM",
  "https://elsewhere.example/v1",
  "x",
  "",
);

const body = fc.oneof(
  fc.constantFrom(
    ...[
      "",
      "null",
      "[]",
      "5",
      '"x"',
      "{",
      "{}",
      '{"name":5,"project":[]}',
      '{"name":"web"}',
      "[".repeat(5_000),
    ],
  ),
  nastyValue,
);
const operation = fc.oneof(
  fc.record(
    {
      id: fc.oneof(oddText, fc.constant("op-000002x")),
      url: fc.oneof(oddText, fc.constant("https://api.example.com/v1/operations/op-000002x")),
    },
    { requiredKeys: [] },
  ),
  nastyValue,
);
const members = fc.record(
  {
    key: fc.oneof(fc.uuid({ version: 4 }), oddText, nastyValue),
    body,
    at: fc.oneof(
      fc.constantFrom(0, -1, 1e308, 8.64e15),
      nastyValue,
      fc.integer().map(() => Date.now()),
    ),
    operation,
    failed: fc.oneof(fc.boolean(), nastyValue),
    asked: fc.oneof(
      fc.dictionary(fc.constantFrom("flavor", "labels", "sshKeys", "__proto__", "x"), nastyValue),
      nastyValue,
    ),
    id: oddText,
  },
  { requiredKeys: [] },
);

export const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.record({
    of: fc.constantFrom("state", "inputs"),
    properties: fc.dictionary(hidden, fc.oneof(nastyValue, endpoint), { minKeys: 1, maxKeys: 3 }),
  }),
  fc.record({
    of: fc.constant("pending"),
    pending: fc.oneof({ weight: 5, arbitrary: members }, { weight: 1, arbitrary: nastyValue }),
    placeholder: fc.oneof(
      fc.constant(undefined),
      fc.constantFrom("operation/op-000002x", "operation/", "operation/key-x", ".."),
    ),
  }),
  fc.record({
    of: fc.constant("journal"),
    how: fc.constantFrom("cut", "replaced", "line", "edited"),
    text: fc.oneof(
      oddText,
      fc.json(),
      body.map((value) => JSON.stringify(value)),
    ),
    members,
  }),
);

/** Returns the damaged state. The properties that identify the resource are kept. */
export function damaged(saved: Saved, damage: Damage): Saved {
  if (damage.of === "state") return { ...saved, state: { ...saved.state, ...damage.properties } };
  if (damage.of === "inputs") return { ...saved, inputs: { ...saved.inputs, ...damage.properties } };
  if (damage.of === "journal") return saved;
  const id = damage.placeholder ?? saved.id;
  // The data of an earlier run, with some of it replaced.
  const before = Object(saved.state.__pending);
  const isMap =
    typeof damage.pending === "object" && damage.pending !== null && !Array.isArray(damage.pending);
  const pending: unknown = isMap ? { ...before, ...damage.pending } : damage.pending;
  return { ...saved, id, state: { ...saved.state, __pending: pending } };
}

/** Returns the damaged text of a journal file. */
export function damagedText(
  text: string,
  { how, text: other, members }: Extract<Damage, { of: "journal" }>,
): string {
  if (how === "cut") return text.slice(0, Math.floor(text.length / 2));
  if (how === "replaced") return other;
  if (how === "line") return `${text}${other}\n`;
  try {
    return `${JSON.stringify({ ...JSON.parse(text.split("\n", 1)[0] ?? ""), ...members })}\n${JSON.stringify(members)}\n`;
  } catch {
    return JSON.stringify(members);
  }
}
