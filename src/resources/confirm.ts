import * as pulumi from "@pulumi/pulumi";
import { confirm } from "../journal/confirm";

/**
 * Removes what a resource's creation left in the journal once its `id` resolves: the engine has saved it by then. Never
 * keeps the program waiting, and never fails it.
 */
export function confirmOnceSaved(resource: pulumi.CustomResource): void {
  if (savesOnlyAtTheEnd()) return;
  const dir = journalDir();
  const key = pulumi.output<unknown>(Reflect.get(resource, "__key"));
  const confirmed = pulumi.all([key, resource.id]).apply(([saved, id]) => {
    if (id && typeof saved === "string") void confirm(saved, id, { dir });
  });
  pulumi.recover(confirmed, () => undefined); // a creation that failed is the program's to report or to recover from
}

/** With this variable, an `id` resolves long before the engine has saved it. */
function savesOnlyAtTheEnd(): boolean {
  return /^(1|true)$/i.test(process.env.PULUMI_SKIP_CHECKPOINTS ?? "");
}

/** The setting as the provider's process reads it: the stack's wins. */
export function journalDir(): string | undefined {
  const texts = [new pulumi.Config("cloudinfra").get("journalDir"), process.env.CLOUDINFRA_JOURNAL_DIR];
  return texts.map((text) => text?.trim()).find(Boolean);
}
