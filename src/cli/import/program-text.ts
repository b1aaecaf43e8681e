import type { Declaration } from "./declaration";

/** A program that declares these resources as they stand. They are protected, as `pulumi import` leaves them. */
export function programText(declared: readonly Declaration[]): string {
  const types = [...new Set(declared.map(({ type }) => type))].sort();
  const project = declared.find(({ type }) => type === "Project");
  const statements = declared.map((one) => statement(one, project));
  return [`import { ${types.join(", ")} } from "pulumi-cloudinfra";`, ...statements]
    .join("\n\n")
    .concat("\n");
}

function statement({ type, name, args }: Declaration, project: Declaration | undefined): string {
  const isProject = type === "Project";
  const lines = Object.entries(args).map(([key, value]) => {
    const isOwn = key === "project" && value === project?.id;
    return `  ${key}: ${isOwn ? "project.id" : literal(value)},`;
  });
  const made = `new ${type}(${literal(name)}, {\n${lines.join("\n")}\n}, { protect: true });`;
  return isProject ? `const project = ${made}` : made;
}

/** A value as a program writes it: JSON, with names bare where they may be. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries: [string, unknown][] = Object.entries(value);
  return `{ ${entries.map(([key, one]) => `${bare(key)}: ${literal(one)}`).join(", ")} }`;
}

function bare(key: string): string {
  if (key === "__proto__") return `["__proto__"]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}
