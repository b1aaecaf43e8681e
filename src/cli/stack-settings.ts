import * as v from "valibot";
import { CloudInfraError } from "../diagnostics/error";
import { pulumiOutput, stackOption } from "./pulumi";

const schema = v.record(v.string(), v.object({ value: v.optional(v.string()) }));

/**
 * Reads the stack's configuration, with decrypted secrets, as the provider receives it.
 *
 * @throws CloudInfraError, never with a value
 */
export async function stackSettings(
  cwd: string,
  stack: string | undefined,
): Promise<(key: string) => string | undefined> {
  const output = await pulumiOutput(cwd, ["config"], ["--json", "--show-secrets", ...stackOption(stack)]);
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), output);
  if (!parsed.success) {
    throw new CloudInfraError(
      "config_invalid",
      "`pulumi config --json` printed something other than the stack's configuration",
      { hint: "Check the `pulumi` on your PATH." },
    );
  }
  return (key) => parsed.output[key]?.value;
}
