/** What somebody else has at the service, and a program may take over. */
interface Foreign {
  readonly id: string;
  readonly project: string;
  readonly name: string;
  readonly image: string;
}

/** What a pair of programs has to keep to. */
export interface Rules {
  /** Whether the service refuses a second object of the same name: then nothing may stay behind. */
  readonly uniqueNames: boolean;
  /** What this pair may take over, if anything. */
  readonly foreign: Foreign | undefined;
}
