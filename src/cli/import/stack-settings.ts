import * as v from "valibot";
import { CloudInfraError } from "../../diagnostics/error";
import { pulumiOutput } from "../pulumi";

const schema = v.record(v.string(), v.object({ value: v.optional(v.string()) }));

/**
 * The stack's settings, secrets in clear, as the provider would be given them.
 *
 * @throws CloudInfraError in words for what Pulumi lacks; never with a value
 */
export async function stackSettings(
  cwd: string,
  stack: string | undefined,
): Promise<(key: string) => string | undefined> {
  const named = stack === undefined ? [] : ["--stack", stack];
  const said = await pulumiOutput(cwd, ["config"], ["--json", "--show-secrets", ...named]);
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), said);
  if (!parsed.success) {
    throw new CloudInfraError(
      "config_invalid",
      "`pulumi config --json` did not answer with the stack's settings",
    );
  }
  return (key) => parsed.output[key]?.value;
}
