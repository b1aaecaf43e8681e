/** An object of somebody else, which a program may adopt. */
interface Foreign {
  readonly id: string;
  readonly project: string;
  readonly name: string;
  readonly image: string;
}

/** The constraints of a pair of programs. */
export interface Rules {
  /** Whether the service rejects a second object with the same name. Then no object may be left behind. */
  readonly uniqueNames: boolean;
  /** The object that this pair may adopt, if any. */
  readonly foreign: Foreign | undefined;
}
