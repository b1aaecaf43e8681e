import type { Declaration } from "./declaration";
import type { StackProvider } from "./stack-resources";

/** The document that `pulumi import --file` takes. With inputs and outputs in it, Pulumi asks no provider. */
export function importDocument(declared: readonly Declaration[], provider?: StackProvider): string {
  const resources = declared.map(({ type, name, id, inputs, outputs }) => ({
    type: `pulumi-nodejs:dynamic/cloudinfra:${type}`,
    name,
    id,
    inputs,
    outputs,
    ...(provider && { provider: provider.name }),
  }));
  const nameTable = provider && { [provider.name]: provider.urn };
  return `${JSON.stringify({ nameTable, resources }, undefined, 2)}\n`;
}
