import type { CloudInfraError } from "../diagnostics/error";

/** What a call waits for that is not the service's answer. */
export type Pause =
  | {
      readonly for: "next try";
      /** How the last one failed. */
      readonly after: CloudInfraError;
      /** When it comes, in milliseconds on the clock that is used. */
      readonly at: number;
    }
  | {
      readonly for: "turn";
      /** Whether fewer requests may start than else, because the service wants it so (429). */
      readonly isSlowed: () => boolean;
    };

/** Told what a call waits for. */
export interface PauseListener {
  /** @param pause undefined: the call goes on */
  pausing(pause: Pause | undefined): void;
}
