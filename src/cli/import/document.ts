import type { Declaration } from "./declaration";

/** The document that `pulumi import --file` takes. With inputs and outputs in it, Pulumi asks no provider. */
export function importDocument(declared: readonly Declaration[]): string {
  const resources = declared.map(({ type, name, id, inputs, outputs }) => ({
    type: `pulumi-nodejs:dynamic/cloudinfra:${type}`,
    name,
    id,
    inputs,
    outputs,
  }));
  return `${JSON.stringify({ resources }, undefined, 2)}\n`;
}
