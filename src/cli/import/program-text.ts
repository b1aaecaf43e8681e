import type { Declaration } from "./declaration";

/**
 * Writes a program that declares these resources as they are. They are protected, as `pulumi import` leaves them. Comments name what
 * the program doesn't declare.
 *
 * @param untold the objects that are left out, each with the reason
 */
export function programText(declared: readonly Declaration[], untold: readonly string[]): string {
  const types = [...new Set(declared.map(({ type }) => type))].sort();
  const project = declared.find(({ type }) => type === "Project");
  const statements = declared.map((one) => statement(one, project));
  const comments = untold.length === 0 ? [] : [untold.map(comment).join("\n")];
  return [`import { ${types.join(", ")} } from "pulumi-cloudinfra";`, ...statements, ...comments]
    .join("\n\n")
    .concat("\n");
}

function statement({ type, name, id, args, left }: Declaration, project: Declaration | undefined): string {
  const lines = Object.entries(args).map(([key, value]) => {
    const isOwn = key === "project" && value === project?.id;
    return `  ${key}: ${isOwn ? "project.id" : literal(value)},`;
  });
  const resource = `new ${type}(${literal(name)}, {\n${lines.join("\n")}\n}, { protect: true });`;
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
