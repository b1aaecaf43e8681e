import type { ErrorCode } from "../../src/diagnostics/error";

/** A way to cause an error that users can meet. */
export interface Provocation {
  readonly code: ErrorCode;
  /** Describes the situation, with the same words as the hint's case in src/diagnostics/hints.ts, if it has one. */
  readonly when: string;
  /** Causes the error and returns its message. */
  readonly provoke: () => Promise<string>;
}
