import { v4 as uuidV4 } from "uuid";
import type { ApiObject } from "../../api/client";
import type { Call } from "../../provider/call";
import type { Properties } from "../../provider/host";
import { outputsOf } from "../../provider/values/outputs";
import { plain } from "../../provider/values/plain";
import { asValue } from "../../provider/values/words";

/** A resource that declares an object as it stands. */
export interface Declaration {
  readonly type: "Project" | "Instance";
  /** The resource's name in the program; unique among those of its type. */
  readonly name: string;
  readonly id: string;
  /** The arguments, in the service's own words. */
  readonly args: Properties;
  /** What the state will hold. */
  readonly inputs: Properties;
  readonly outputs: Properties;
}

/** Objects as resources; `untold` says of an object that lacks a required argument why it can't be one. */
export function declarations(
  call: Call,
  objects: readonly ApiObject[],
): { declared: Declaration[]; untold: string[] } {
  const names = new Set<string>();
  const declared: Declaration[] = [];
  const untold: string[] = [];
  for (const object of objects) {
    const args = argumentsOf(call, object);
    const missing = REQUIRED[call.kind.name].filter((name) => args[name] === undefined);
    if (missing.length === 0) declared.push(declaration(call, object, args, nameFor(object, args, names)));
    else
      untold.push(
        `${call.kind.name} ${object.id} is left out: the service does not tell its ${missing.join(", ")}`,
      );
  }
  return { declared, untold };
}

const REQUIRED: Readonly<Record<"project" | "instance", readonly string[]>> = {
  project: ["name", "region"],
  instance: ["project", "name", "image", "flavor", "network"],
};

function argumentsOf({ kind }: Call, { fields }: ApiObject): Properties {
  const values = kind.fields.map((field) => [field.name, asValue(field, fields[field.wire])] as const);
  const isEmpty = (value: unknown): boolean =>
    typeof value === "object" && value !== null && Object.keys(value).length === 0;
  return plain(Object.fromEntries(values.filter(([, value]) => !isEmpty(value))));
}

function nameFor({ id }: ApiObject, { name }: Properties, taken: Set<string>): string {
  const wanted = typeof name === "string" && name !== "" ? name.replaceAll("::", "-") : id;
  const unique = taken.has(wanted) ? `${wanted}-${id}` : wanted;
  taken.add(unique);
  return unique;
}

function declaration(call: Call, object: ApiObject, args: Properties, name: string): Declaration {
  const { profile } = call.session.settings;
  const hidden = { ...(profile !== undefined && { profile }), __key: uuidV4() };
  const { additionalProperties: _secret, ...outputs } = outputsOf(call, object, {
    ...{ hidden, values: args, words: {}, before: {} },
  });
  const __provider = `exports.handler=()=>require("pulumi-cloudinfra/provider").${call.kind.name}`;
  return {
    type: call.kind.name === "project" ? "Project" : "Instance",
    name,
    id: object.id,
    args: profile === undefined ? args : { profile, ...args },
    inputs: { ...args, ...hidden, __provider },
    outputs: { ...outputs, __provider },
  };
}
