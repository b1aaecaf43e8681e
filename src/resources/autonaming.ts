// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are expressions of Pulumi's patterns
import * as pulumi from "@pulumi/pulumi";
import { NO_ORGANIZATION, organizationOfStack } from "./sdk";

/**
 * How to generate the names of a type's resources: a pattern, or `false` if the program must give them. The pattern still contains
 * `${name}` and the random parts, which the provider fills in.
 */
export type Naming = string | false;

/**
 * Reads the setting `pulumi:autonaming` for a type of resources. The engine reads it, too, but Pulumi's host doesn't pass it on.
 *
 * @returns `undefined` if the setting leaves names to the provider
 * @throws Error if a pattern names a configuration key that is missing
 */
export function autonaming(type: string): Naming | undefined {
  const setting = new pulumi.Config("pulumi").getObject<unknown>("autonaming");
  if (setting === undefined) return undefined;
  const provider = valueAt(setting, ["providers", "pulumi-nodejs"]);
  const { mode, pattern }: { mode?: unknown; pattern?: unknown } = Object(
    valueAt(provider, ["resources", type]) ?? provider ?? setting,
  );
  if (typeof pattern === "string") return withStackValues(pattern);
  return mode === "verbatim" ? "${name}" : mode === "disabled" ? false : undefined;
}

function withStackValues(pattern: string): string {
  return pattern.replace(/\$\{(organization|project|stack|config\.([^}]+))\}/g, (whole, expression, key) => {
    if (expression === "project") return pulumi.getProject();
    if (expression === "stack") return pulumi.getStack();
    if (expression === "organization") return organizationOfStack() ?? NO_ORGANIZATION;
    const value = configValue(key);
    if (value !== undefined) return value;
    throw new pulumi.RunError(
      `cloudinfra: pulumi:autonaming: the pattern names ${whole}, but the configuration of the project has no such key. ` +
        `Set it with \`pulumi config set ${key} <value>\``,
    );
  });
}

/** A value of the project's configuration; a dot leads into a structured value. */
function configValue(path: string): string | undefined {
  const config = new pulumi.Config();
  const [key = "", ...rest] = path.split(".");
  const value = rest.length === 0 ? config.get(key) : valueAt(config.getObject<unknown>(key), rest);
  return value === undefined || typeof value === "object" ? undefined : String(value);
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined),
    value,
  );
}
