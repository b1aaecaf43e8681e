import { shellWord } from "../command";
import type { RecoverArgs } from "./args";
import type { Deployment } from "./deployment";

/**
 * Explains how to clear Pulumi's list of pending operations. Pulumi keeps creations in the list even after an `up` has resumed them, so
 * they would be found again once the state no longer holds their resources. With the stack itself as the target, nothing is refreshed.
 */
export function clearPendingHint(
  { resources }: Deployment,
  { cwd, stack, forget }: Pick<RecoverArgs, "cwd" | "stack" | "forget">,
): string {
  const urn = resources.find(({ type }) => type === "pulumi:pulumi:Stack")?.urn;
  const options = [
    ...(urn === undefined ? [] : [`--target '${urn}'`]),
    ...(stack === undefined ? [] : [`--stack ${shellWord(stack)}`]),
    ...(cwd === "." ? [] : [`--cwd ${shellWord(cwd)}`]),
  ];
  const when =
    forget === undefined
      ? [
          "Pulumi keeps these creations in its list of pending operations. After the next successful `pulumi up`, clear the list, or they",
          "may be found again. If the list has creations of other packages too, settle those first.",
        ]
      : [
          "Pulumi keeps the creation in its list of pending operations. Clear the list before you run `recover` again, or it is found again.",
          "If the list has other creations too, settle those first.",
        ];
  return [
    ...when,
    `  ${["pulumi refresh --yes --skip-preview --clear-pending-creates", ...options].join(" ")}`,
  ].join("\n");
}
