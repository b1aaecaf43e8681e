import * as pulumi from "@pulumi/pulumi";

/**
 * Removes the journal entry of a resource's creation once its `id` resolves, because the engine has saved the resource by then. The program
 * neither waits for this nor fails because of it.
 */
export function confirmOnceSaved(resource: pulumi.CustomResource): void {
  if (savesOnlyAtTheEnd()) return;
  const dir = journalDir();
  const confirmed = pulumi.all([resource.urn, resource.id]).apply(([urn, id]) => {
    if (id) void import("../journal/confirm.js").then(({ confirm }) => confirm(urn, id, { dir }));
  });
  pulumi.recover(confirmed, () => undefined); // Pulumi reports a creation that failed
}

/** Reports whether the engine saves resources only at the end, long after their `id` resolves. */
function savesOnlyAtTheEnd(): boolean {
  return /^(1|true)$/i.test(process.env.PULUMI_SKIP_CHECKPOINTS ?? "");
}

/** Returns the setting as the provider reads it: the stack's setting, or else the environment's. */
export function journalDir(): string | undefined {
  const texts = [new pulumi.Config("cloudinfra").get("journalDir"), process.env.CLOUDINFRA_JOURNAL_DIR];
  return texts.map((text) => text?.trim()).find(Boolean);
}
