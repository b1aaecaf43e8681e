import type { Declaration } from "./declaration";
import type { StackProvider } from "./stack-resources";

/**
 * Writes a program that declares these resources as they are. They are protected, as `pulumi import` leaves them. Comments name what
 * the program doesn't declare.
 *
 * @param untold the objects that are left out, each with the reason
 * @param provider the explicit provider of the resources
 */
export function programText(
  declared: readonly Declaration[],
  untold: readonly string[],
  provider?: Pick<StackProvider, "name">,
): string {
  const types = [...new Set(declared.map(({ type }) => type))].sort();
  const project = declared.find(({ type }) => type === "Project");
  const variable = provider && variableFor(provider.name);
  const options = variable === undefined ? "{ protect: true }" : `{ protect: true, provider: ${variable} }`;
  const statements = declared.map((one) => statement(one, project, options));
  const hints = provider
    ? [comment(`${variable} is your program's provider ${literal(provider.name)}.`)]
    : [];
  const comments = untold.length === 0 ? [] : [untold.map(comment).join("\n")];
  return [`import { ${types.join(", ")} } from "pulumi-cloudinfra";`, ...hints, ...statements, ...comments]
    .join("\n\n")
    .concat("\n");
}

/** A variable that the program may use for its provider. */
function variableFor(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) && !["project", "Project", "Instance"].includes(name)
    ? name
    : "provider";
}

function statement(
  { type, name, id, args, left }: Declaration,
  project: Declaration | undefined,
  options: string,
): string {
  const lines = Object.entries(args).map(([key, value]) => {
    const isOwn = key === "project" && value === project?.id;
    return `  ${key}: ${isOwn ? "project.id" : literal(value)},`;
  });
  const resource = `new ${type}(${literal(name)}, {\n${lines.join("\n")}\n}, ${options});`;
  const comments =
    left.length === 0 ? [] : [comment(`Left out of ${id}:`), ...left.map((one) => comment(`  ${one}`))];
  return [...comments, type === "Project" ? `const project = ${resource}` : resource].join("\n");
}

/** A value as a program writes it: JSON, but names without quotes where possible. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object" || value === null) return visible(JSON.stringify(value));
  const entries: [string, unknown][] = Object.entries(value);
  return `{ ${entries.map(([key, one]) => `${bare(key)}: ${literal(one)}`).join(", ")} }`;
}

function bare(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : literal(key);
}

function comment(text: string): string {
  return visible(`// ${text}`);
}

/** Escapes the characters that end a line or change how the text is displayed. */
function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]/gu, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${code}`;
  });
}
