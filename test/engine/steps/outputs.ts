import type { Resource } from "../state/resource";
import { mapValues, Secret } from "../values/values";

/** Marks outputs secret: those that the program names, and those whose input of the same name is. */
export function markOutputs(resource: Resource): void {
  resource.outputs = mapValues(resource.outputs, (output, key) => {
    if (output instanceof Secret) return output;
    const secret = resource.additionalSecretOutputs.includes(key) || resource.inputs[key] instanceof Secret;
    return secret ? new Secret(output) : output;
  });
}
