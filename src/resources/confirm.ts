import * as pulumi from "@pulumi/pulumi";
import { inputsOf, type ProviderInputs } from "./provider";
import { resolved } from "./sdk";

/**
 * Removes the journal entry of a resource's creation once its `id` resolves, because the engine has saved the resource by then. The program
 * neither waits for this nor fails because of it.
 */
export function confirmOnceSaved(resource: pulumi.CustomResource, type: string): void {
  const dir = journalDirOf(inputsOf(resource.getProvider(type)));
  const key = pulumi.output<unknown>(Reflect.get(resource, "__key"));
  const confirmed = pulumi.all([key, resource.id]).apply(([saved, id]) => {
    if (id && typeof saved === "string")
      void import("../journal/confirm.js").then(async ({ confirm }) =>
        confirm(saved, id, { dir: await dir }),
      );
  });
  pulumi.recover(confirmed, () => undefined); // Pulumi reports a creation that failed
}

/** Returns the setting `journalDir` as a provider reads it: its argument or else the environment's. @default the stack's setting */
export async function journalDirOf(inputs: ProviderInputs | undefined): Promise<string | undefined> {
  const setting =
    inputs === undefined
      ? new pulumi.Config("cloudinfra").get("journalDir")
      : await resolved(inputs["cloudinfra:journalDir"]);
  return [setting, process.env.CLOUDINFRA_JOURNAL_DIR].map((text) => text?.trim()).find(Boolean);
}
