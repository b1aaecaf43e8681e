import { stackOf } from "../journal/place";
import { summarizeEntry, unsettledWarning } from "../journal/unsettled";
import type { Properties } from "./host";
import type { Shutdown } from "./interruption";
import type { Sessions } from "./session";
import { hiddenOf } from "./values/state";

/**
 * Records that a delete begins. A run without checks, such as `destroy`, learns its organization and folder from the state. It has no program that warns
 * of unsettled creations, so this process does at its end: until then, a later delete may settle them.
 */
export function recordDeletion(sessions: Sessions, interruption: Shutdown, state: Properties): void {
  const { tracker } = sessions;
  if (tracker.urn !== undefined) return;
  const { __urn: urn, __organization, __projectFolder } = hiddenOf(state);
  tracker.organization ??= __organization;
  tracker.projectFolder ??= __projectFolder;
  if (urn !== undefined) interruption.beforeExit(() => warnOfUnsettled(sessions, stackOf(urn)));
}

async function warnOfUnsettled({ tracker, warn, opened }: Sessions, stack: string): Promise<void> {
  if (tracker.urn !== undefined) return;
  const entries = (await opened?.journal.listEverywhere()) ?? [];
  const ours = entries.filter(({ urn }) => stackOf(urn) === stack);
  if (ours.length > 0) await warn(unsettledWarning(ours.map(summarizeEntry), WORDS));
}

const WORDS = {
  one: "its object may still exist",
  several: "their objects may still exist",
  hints: [
    "Run `npx pulumi-cloudinfra recover`, which tells which objects the stack has: keep those. Delete the others at the service if they exist. Then run `npx pulumi-cloudinfra recover --forget <urn>`.",
    "After an interruption, run `pulumi up` before `pulumi destroy`, which finds only what the state holds.",
  ],
};
