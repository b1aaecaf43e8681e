import type { Resource } from "../state/resource";
import { mapValues, Secret } from "../values/values";

/** Marks outputs as secret: those that the program lists, and those with a secret input of the same name. */
export function markOutputs(resource: Resource): void {
  resource.outputs = mapValues(resource.outputs, (output, key) => {
    if (output instanceof Secret) return output;
    const secret = resource.additionalSecretOutputs.includes(key) || resource.inputs[key] instanceof Secret;
    return secret ? new Secret(output) : output;
  });
}
