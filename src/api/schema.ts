import * as v from "valibot";

/** Numbers may come as texts and ids as numbers; fields that no schema names are kept. */
const text = v.union([
  v.string(),
  v.pipe(
    v.number(),
    v.finite(),
    v.transform((number) => String(number)),
  ),
]);
const id = v.pipe(text, v.minLength(1));
const lenient = <T>(schema: v.GenericSchema<unknown, T>) => v.fallback(v.optional(schema), undefined);

/** §2.3 and §2.2 write dates as ISO 8601, with or without a fraction. A malformed one is treated as missing. */
const date = lenient(
  v.pipe(
    v.string(),
    v.transform((string) => Date.parse(string)),
    // Zero times of some languages (year 1) and of 1970 stand for "not yet".
    v.check((ms) => ms > 0),
  ),
);

/** From 0 to 1, also where it comes as a text or slightly outside. */
const fraction = lenient(
  v.pipe(
    v.union([v.number(), v.pipe(v.string(), v.nonEmpty(), v.transform(Number))]),
    v.finite(),
    v.transform((number) => Math.min(1, Math.max(0, number))),
  ),
);

/** An object's id, or an object that has one. */
const reference = lenient(
  v.union([
    id,
    v.pipe(
      v.object({ id }),
      v.transform((object) => object.id),
    ),
  ]),
);

const pair = v.union([
  v.pipe(
    v.object({ key: v.string(), value: v.unknown() }),
    v.transform(({ key, value }) => [key, value] as const),
  ),
  v.pipe(
    v.object({ name: v.string(), value: v.unknown() }),
    v.transform(({ name, value }) => [name, value] as const),
  ),
  v.pipe(
    v.string(),
    v.regex(/^[^=]+=/),
    v.transform((text) => [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)] as const),
  ),
]);

/** Labels (§2.2) as a map, also if they come as a list of pairs or of `key=value`. Any other form is kept as it is. */
const labels = v.union([
  v.pipe(
    v.array(pair),
    v.transform((pairs) => Object.fromEntries(pairs)),
  ),
  v.unknown(),
]);

/** Any object with an id: a project (§2.1) or an instance. */
export const objectSchema = v.looseObject({ id, labels: v.optional(labels) });

/** An operation (§2.3). */
export const operationSchema = v.looseObject({
  id: lenient(id),
  status: v.pipe(v.string(), v.nonEmpty()),
  progress: fraction,
  result_url: lenient(v.pipe(v.string(), v.nonEmpty())),
  error: v.optional(v.unknown()),
  started_at: date,
  finished_at: date,
  resource_id: lenient(id),
  resource: reference,
  result: reference,
});

/** A page of a list (§2.5). */
export const pageSchema = v.pipe(
  v.looseObject({}),
  // Any other object must not be taken for an empty page.
  v.check((page) => ["items", "next_cursor", "has_more"].some((name) => Object.hasOwn(page, name))),
  v.looseObject({
    // Some languages write an empty list as null, or leave it out.
    items: v.nullish(v.array(objectSchema), []),
    next_cursor: v.nullish(text),
    // A value of another form counts as true: without a cursor, the list must not look complete.
    has_more: v.nullish(
      v.pipe(
        v.unknown(),
        v.transform((value) => !/^(false|0)$/i.test(String(value))),
      ),
    ),
  }),
);

export type OperationBody = v.InferOutput<typeof operationSchema>;
