import * as pulumi from "@pulumi/pulumi";

/**
 * Removes the journal entry of a resource's creation once its `id` resolves, because the engine has saved the resource by then. The program
 * neither waits for this nor fails because of it.
 */
export function confirmOnceSaved(resource: pulumi.CustomResource): void {
  const dir = journalDir();
  const key = pulumi.output<unknown>(Reflect.get(resource, "__key"));
  const confirmed = pulumi.all([key, resource.id]).apply(([saved, id]) => {
    if (id && typeof saved === "string")
      void import("../journal/confirm.js").then(async ({ confirm }) =>
        confirm(saved, id, { dir: await dir }),
      );
  });
  pulumi.recover(confirmed, () => undefined); // Pulumi reports a creation that failed
}

/** Returns the setting as the provider reads it: the stack's setting, or else the environment's. */
export function journalDir(): string | undefined {
  const texts = [new pulumi.Config("cloudinfra").get("journalDir"), process.env.CLOUDINFRA_JOURNAL_DIR];
  return texts.map((text) => text?.trim()).find(Boolean);
}
