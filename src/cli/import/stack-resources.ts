import { PROVIDER_NAME } from "../../config/settings";
import { CloudInfraError } from "../../diagnostics/error";
import { isUrnOf, type Kind } from "../../model/kinds";
import { parseRecorded, resourceName } from "../../model/state";
import { type Context, otherRecordedEndpoint } from "../../provider/context";
import { pulumiOutput, stackOption } from "../pulumi";
import { unfinishedCreations } from "../recover/creations";
import { type Deployment, parseExport, withoutSecretMarks } from "../recover/export";

/** An explicit provider of the stack. */
export interface StackProvider {
  readonly name: string;
  readonly urn: string;
  /** Looks up a setting, with its namespace. */
  setting(key: string): string | undefined;
}

/** What the stack already has, and what an import must not repeat. */
export interface StackResources {
  /** Whether the stack manages this object; a `get` doesn't. */
  manages(context: Context, id: string): boolean;
  /** The names of all resources of a kind. */
  namesOf(kind: Kind): string[];
  /** @throws CloudInfraError `config_missing` if the stack has no explicit provider with this name */
  provider(name: string): StackProvider;
}

/**
 * Reads the stack's resources. The record of a creation is a secret.
 *
 * @throws CloudInfraError `conflict` if the stack has an unfinished creation, whose object would be imported as well as resumed
 */
export async function stackResources(cwd: string, stack: string | undefined): Promise<StackResources> {
  const options = ["--show-secrets", ...stackOption(stack)];
  const deployment = parseExport(await pulumiOutput(cwd, ["stack", "export"], options));
  const { resources } = deployment;
  const unfinished = unfinishedCreations(deployment);
  if (unfinished.length > 0) {
    const what = unfinished.length === 1 ? "an unfinished creation" : "unfinished creations";
    throw new CloudInfraError("conflict", `the stack has ${what}: ${unfinished.join(", ")}`, {
      hint:
        "Run `pulumi up` first: it resumes the creation. On another machine, run `npx pulumi-cloudinfra recover` before that. " +
        "Then run `import` again. If the creation is reported again, clear Pulumi's list with the command that `recover` prints.",
    });
  }
  return {
    manages: (context, id) =>
      resources.some(
        (one) =>
          one.id === id &&
          !one.external &&
          isUrnOf(context.kind, one.urn) &&
          otherRecordedEndpoint(context, parseRecorded(one.outputs)) === undefined,
      ),
    namesOf: (kind) =>
      resources.filter(({ urn }) => isUrnOf(kind, urn)).flatMap(({ urn }) => resourceName(urn) ?? []),
    provider: (name) => providerOf(deployment, name),
  };
}

function providerOf({ resources }: Deployment, name: string): StackProvider {
  const named = resources.filter(({ inputs }) => typeof inputs[PROVIDER_NAME] === "string");
  const found = named.find(({ inputs }) => inputs[PROVIDER_NAME] === name);
  if (found !== undefined) {
    const setting = (key: string): string | undefined => {
      const value = withoutSecretMarks(found.inputs[key]);
      return typeof value === "string" ? value : undefined;
    };
    return { name, urn: found.urn, setting };
  }
  const names = named.map(({ inputs }) => `"${inputs[PROVIDER_NAME]}"`).join(", ") || "none";
  throw new CloudInfraError("config_missing", `the stack has no provider "${name}". It has: ${names}`, {
    hint: "Correct the name given with --provider. If the program declares the provider, run `pulumi up` first.",
  });
}
