import { CloudInfraError } from "../../src/diagnostics/error";
import type { Pause } from "../../src/polling/schedule";
import { formatProgress, type ProgressStatus } from "../../src/provider/progress";

/** A message that the provider shows in Pulumi's display, and what it means. */
export interface StatusMessage {
  readonly message: string;
  readonly meaning: string;
}

const atMs = 0;
const unavailable: Pause = {
  for: "retry",
  after: new CloudInfraError("unavailable", "503", { status: 503 }),
  at: 8_000,
};
const slowed: Pause = { for: "turn", isSlowed: () => true };

/** The messages that docs/waiting.md explains, formatted by the provider's code. */
export function statusMessages(): StatusMessage[] {
  return [
    message(
      { verb: "creating", step: { progress: 0.42, remainingMs: 18_000, atMs } },
      "The service reports progress. The remaining time appears once it can be estimated.",
    ),
    message(
      { verb: "creating", step: { progress: 0.42, remainingMs: 18_000, atMs: -9_000 } },
      "The service reported progress some seconds ago. The provider estimates the remaining time.",
    ),
    message({ verb: "creating", elapsedMs: 42_000 }, "The service reports no progress."),
    message(
      { verb: "creating", step: { progress: 0.3, pause: unavailable, atMs } },
      "The operation is running, but the last poll failed, so the provider retries.",
    ),
    message(
      {
        verb: "deleting",
        elapsedMs: 40_000,
        waits: [{ for: "waiting for confirmation" }],
      },
      "The service accepted the deletion. The provider checks that the instance no longer exists.",
    ),
    message(
      {
        verb: "deleting",
        elapsedMs: 4_000,
        waits: [{ for: "cleaning up unfinished instances" }],
        step: { progress: 0.1, atMs },
      },
      "An interrupted `up` left an unfinished instance in the project. The provider finishes and deletes it first.",
    ),
    message(
      { verb: "updating", elapsedMs: 3_000, waits: [{ for: "waiting for confirmation" }] },
      "The service accepted the update. The provider checks that the change was applied.",
    ),
    message(
      { verb: "reading", elapsedMs: 14_000, waits: [{ for: "listing instances (page 12)" }] },
      "A refresh reads a long list of instances. All reads share this list.",
    ),
    message(
      { verb: "reading", elapsedMs: 9_000, pause: slowed },
      "The service responded with 429, so the provider temporarily sends fewer requests.",
    ),
  ];
}

function message(
  status: Partial<ProgressStatus> & Pick<ProgressStatus, "verb">,
  meaning: string,
): StatusMessage {
  return { message: formatProgress({ nowMs: 0, elapsedMs: 9_000, waits: [], ...status }), meaning };
}
