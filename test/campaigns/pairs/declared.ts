/** A value in a program: plain, secret, or an output of another resource. */
export type Given =
  | string
  | readonly Given[]
  | { readonly [key: string]: Given }
  | Secret
  | Output
  | Undefined;

/** A secret of the program. */
export class Secret {
  constructor(readonly text: string) {}
}

/** An output of another resource of the program, which is unknown until that resource is created. */
export class Output {
  constructor(
    readonly resource: string,
    readonly property: string,
  ) {}
}

/** An explicit `undefined`. */
export class Undefined {}

/** The options of a resource. */
export interface Options {
  readonly ignoreChanges?: readonly string[];
  readonly replaceOnChanges?: readonly string[];
  readonly deleteBeforeReplace?: boolean;
  readonly retainOnDelete?: boolean;
  /** The resource's names in earlier programs. */
  readonly aliases?: readonly string[];
  readonly customTimeouts?: { readonly create?: string; readonly update?: string; readonly delete?: string };
  readonly dependsOn?: readonly string[];
  /** A component of the program. */
  readonly parent?: string;
  readonly import?: string;
}

/** A resource as a program declares it. */
export interface Declared {
  readonly type: "Project" | "Instance";
  readonly resource: string;
  readonly args: { readonly [key: string]: Given };
  readonly options: Options;
}

/** Returns the program's source code. A resource follows those that it refers to. */
export function sourceOf(resources: readonly Declared[]): string {
  const parents = [...new Set(resources.flatMap(({ options: { parent } }) => parent ?? []))];
  return [
    ...parents.map((name) => `const ${idOf(name)} = new pulumi.ComponentResource("test:Group", "${name}");`),
    ...resources.map(declaration),
  ].join("\n");
}

const idOf = (resource: string): string => resource.replaceAll("-", "_");

function declaration({ type, resource, args, options }: Declared): string {
  const { aliases, dependsOn, parent, ...plain } = options;
  const others = [
    ...Object.entries(plain).map(([key, value]) => `${key}: ${JSON.stringify(value)}`),
    ...(aliases ? [`aliases: [${aliases.map((name) => `{ name: "${name}" }`).join(", ")}]`] : []),
    ...(dependsOn ? [`dependsOn: [${dependsOn.map(idOf).join(", ")}]`] : []),
    ...(parent ? [`parent: ${idOf(parent)}`] : []),
  ];
  return `const ${idOf(resource)} = new ${type}("${resource}", ${text(args)}, { ${others.join(", ")} });`;
}

function text(given: Given): string {
  if (given instanceof Secret) return `pulumi.secret(${JSON.stringify(given.text)})`;
  if (given instanceof Output) return `${idOf(given.resource)}.${given.property}`;
  if (given instanceof Undefined) return "undefined";
  if (typeof given === "string") return JSON.stringify(given);
  if (Array.isArray(given)) return `[${given.map(text).join(", ")}]`;
  return `{ ${Object.entries(given)
    .map(([key, value]) => `${JSON.stringify(key)}: ${text(value)}`)
    .join(", ")} }`;
}
