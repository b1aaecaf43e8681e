import type { ErrorCode } from "../../src/diagnostics/error";

/** A failure that a person can meet, brought about for real. */
export interface Provocation {
  readonly code: ErrorCode;
  /** When it comes about; where the code's hint depends on the case, that case's own words. */
  readonly when: string;
  /** @returns what the person is told */
  readonly provoke: () => Promise<string>;
}
