import { type Call, recordedElsewhere } from "../../provider/call";
import { isUrnOf, type Kind } from "../../provider/kind";
import { resourceName } from "../../provider/values/state";
import { pulumiOutput, stackOption } from "../pulumi";
import { parseExport } from "../recover/deployment";

/** What the stack already has, and what an import must not repeat. */
export interface StackResources {
  /** Whether the stack manages this object; a `get` doesn't. */
  manages(call: Call, id: string): boolean;
  /** The names of all resources of a kind. */
  namesOf(kind: Kind): string[];
}

/**
 * Reads the stack's resources, without its secrets.
 *
 * @throws CloudInfraError
 */
export async function stackResources(cwd: string, stack: string | undefined): Promise<StackResources> {
  const { resources } = parseExport(await pulumiOutput(cwd, ["stack", "export"], stackOption(stack)));
  return {
    manages: (call, id) =>
      resources.some(
        (one) =>
          one.id === id &&
          !one.external &&
          isUrnOf(call.kind, one.urn) &&
          recordedElsewhere(call, one.outputs) === undefined,
      ),
    namesOf: (kind) =>
      resources
        .filter(({ urn }) => isUrnOf(kind, urn))
        .flatMap(({ urn }) => resourceName({ __urn: urn }) ?? []),
  };
}
