import { v4 as uuidV4 } from "uuid";
import type { ApiObject } from "../../api/client";
import type { Context } from "../../provider/call";
import type { Properties } from "../../provider/host";
import { initialOutputs } from "../../provider/values/outputs";
import type { WireFields } from "../../provider/values/words";
import { expressArguments } from "./arguments";

/** A resource that declares an object as it is. */
export interface Declaration {
  readonly type: "Project" | "Instance";
  /** The resource's name in the program, unique among those of its type. */
  readonly name: string;
  readonly id: string;
  /** The arguments in the program. */
  readonly args: Properties;
  /** The values that the program can't express, each with the reason. */
  readonly left: readonly string[];
  /** What the state will hold. */
  readonly inputs: Properties;
  readonly outputs: Properties;
}

/**
 * Declares objects as resources. `untold` says why an object can't be declared: a required argument is missing.
 *
 * @param more `taken`: names of existing resources of this type; `given`: fields that are declared in place of what the service shows
 */
export function declarations(
  context: Context,
  objects: readonly ApiObject[],
  { taken = [], given = {} }: { taken?: readonly string[]; given?: WireFields } = {},
): { declared: Declaration[]; untold: string[] } {
  const names = new Set(taken);
  const declared: Declaration[] = [];
  const untold: string[] = [];
  for (const object of objects) {
    const { args, left, lacking } = expressArguments(context.kind, { ...object.fields, ...given });
    if (lacking.length === 0) {
      declared.push({ ...declaration(context, object, args), left, name: nameFor(object, args, names) });
      continue;
    }
    const reasons = lacking.map(
      (name) => left.find((fault) => fault.startsWith(`${name}:`)) ?? `the service returned no ${name}`,
    );
    untold.push(omittedInstance(context, object, reasons.join("; ")));
  }
  return { declared, untold };
}

/** Says why an object isn't imported. */
export function omittedInstance({ kind }: Context, { id }: ApiObject, reason: string): string {
  return `${kind.name} ${id} is left out: ${reason}`;
}

/** The object's name, or its id if another resource has that name. */
function nameFor({ id }: ApiObject, { name }: Properties, taken: Set<string>): string {
  const wanted = String(name)
    .toWellFormed()
    .replaceAll(/::|[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]/gu, "-");
  let unique = wanted;
  while (taken.has(unique)) unique += `-${id}`;
  taken.add(unique);
  return unique;
}

function declaration(
  context: Context,
  object: ApiObject,
  args: Properties,
): Omit<Declaration, "left" | "name"> {
  const hidden = { __key: uuidV4() };
  const { additionalProperties: _secret, ...outputs } = initialOutputs(context, object, hidden, args);
  const __provider = `exports.handler=()=>require("pulumi-cloudinfra/provider").${context.kind.name}`;
  return {
    type: context.kind.name === "project" ? "Project" : "Instance",
    id: object.id,
    args,
    inputs: { ...args, ...hidden, __provider },
    outputs: { ...outputs, __provider },
  };
}
