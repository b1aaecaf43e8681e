import { readFile } from "node:fs/promises";
import path from "node:path";
import { text as readAll } from "node:stream/consumers";
import * as v from "valibot";
import { CloudInfraError } from "../../diagnostics/error";
import { pulumiOutput, stackOption } from "../pulumi";
import type { RecoverArgs } from "./args";

const properties = v.nullish(v.record(v.string(), v.unknown()), {});

const text = v.fallback(v.optional(v.string()), undefined);

const resource = v.object({
  urn: v.string(),
  type: v.string(),
  id: text,
  inputs: properties,
  outputs: properties,
  /** URN and id of the resource's provider. */
  provider: text,
  /** Whether the program only reads the object, and doesn't manage it. */
  external: v.fallback(v.optional(v.boolean()), undefined),
  /**
   * When the resource was created. A pending replacement has the time of the resource that it replaces; or, if its creation ended after a
   * second Ctrl-C, the time of that end.
   */
  created: text,
  /** Whether the resource was deleted so that another one can replace it. */
  pendingReplacement: v.fallback(v.optional(v.boolean()), undefined),
  /** Earlier URNs of a resource that was renamed or moved. */
  aliases: v.fallback(v.optional(v.array(v.string()), []), []),
});

const exported = v.object({
  version: v.number(),
  deployment: v.object({
    manifest: v.nullish(v.object({ time: v.nullish(v.string()) })),
    resources: v.nullish(v.array(resource), []),
    pending_operations: v.nullish(v.array(v.object({ type: v.string(), resource })), []),
  }),
});

/** The part of a stack's export that `recover` and `import` use. Values may be wrapped secrets: see {@link withoutSecretMarks}. */
export type Deployment = v.InferOutput<typeof exported>["deployment"];
export type Resource = v.InferOutput<typeof resource>;

/** Pulumi writes 4 if the stack uses a newer feature, such as a tainted resource. What is read here is the same in both. */
const VERSIONS: readonly unknown[] = [3, 4];

const HINT = "Use the complete output of `pulumi stack export --show-secrets`.";

/**
 * Parses a stack's export.
 *
 * @throws CloudInfraError `input_invalid`, without any content of the export, which holds secrets
 */
export function parseExport(text: string): Deployment {
  const json = parseJson(text);
  const { success, output } = v.safeParse(v.object({ version: v.unknown() }), json);
  if (success && typeof output.version === "number" && !VERSIONS.includes(output.version)) {
    throw new CloudInfraError(
      "input_invalid",
      `the export has version ${output.version}, but this package reads versions ${VERSIONS.join(" and ")}`,
      { hint: "Export the stack with another version of Pulumi, or update pulumi-cloudinfra." },
    );
  }
  const parsed = v.safeParse(exported, json);
  if (parsed.success) return parsed.output.deployment;
  const where = v.getDotPath(parsed.issues[0]);
  throw new CloudInfraError(
    "input_invalid",
    `this is not the export of a stack${where === null ? "" : `: wrong value at ${where}`}`,
    { hint: HINT },
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, "")); // some shells write a byte order mark
  } catch {
    // The parser's message quotes the text.
    throw new CloudInfraError("input_invalid", "the export is not valid JSON", {
      hint: HINT,
    });
  }
}

const SIGNATURE = "4dabf18193072939515e22adb298388d";
const secret = v.object({ [SIGNATURE]: v.literal("1b47061264138c4ac30d75fd1eb44270") });

/**
 * Unwraps the secrets in a value of the state.
 *
 * @throws CloudInfraError `input_invalid` if they are encrypted
 */
export function withoutSecretMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecretMarks);
  if (typeof value !== "object" || value === null) return value;
  if (!v.is(secret, value)) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutSecretMarks(inner)]));
  }
  if ("plaintext" in value && typeof value.plaintext === "string")
    return withoutSecretMarks(parseJson(value.plaintext));
  throw new CloudInfraError("input_invalid", "the secrets in the export are encrypted", {
    hint: "Export the stack with `pulumi stack export --show-secrets`. A creation can be resumed only with the same values.",
  });
}

/**
 * Reads the stack's export, with decrypted secrets, from Pulumi, a file or standard input.
 *
 * @throws CloudInfraError, never with a part of the export
 */
export function stackExport({ cwd, stack, file }: RecoverArgs): Promise<string> {
  if (file === "-") return readAll(process.stdin);
  if (file !== undefined) return fromFile(path.resolve(cwd, file));
  return pulumiOutput(cwd, ["stack", "export"], ["--show-secrets", ...stackOption(stack)]);
}

async function fromFile(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new CloudInfraError("input_invalid", `can't read the export ${file}`, {
      hint: "Check the path given with --file. A relative path starts at the folder given with --cwd.",
      cause,
    });
  }
}
