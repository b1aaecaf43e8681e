import { type Behaviour, defaultBehaviour } from "../../../src/emulator/behaviour";
import { answer } from "../../../src/emulator/endpoints";
import { FirstReplies } from "../../../src/emulator/idempotency";
import { Ids } from "../../../src/emulator/ids";
import { finishDueOperations } from "../../../src/emulator/operations";
import type { Reply } from "../../../src/emulator/reply";
import type { EmulatorRequest } from "../../../src/emulator/request";
import { State } from "../../../src/emulator/state";

/** The emulator without a port, with the same ids in each run. */
export class PlainService {
  readonly state: State;
  readonly firstReplies = new FirstReplies();

  constructor(
    behaviour: Partial<Behaviour>,
    origin: string,
    readonly token: string,
    now: () => number,
  ) {
    let ids = 0;
    const hex = (bytes: number): string => {
      ids += 1;
      return bytes === 6 ? `${String(ids).padStart(6, "0")}x` : String(ids).padStart(2 * bytes, "0");
    };
    this.state = new State({ ...defaultBehaviour, ...behaviour }, now, new Ids(hex));
    this.state.url = origin;
  }

  answer(request: EmulatorRequest): Reply {
    return answer(this, request);
  }

  /** Ends the operations that are due. */
  settle(): void {
    finishDueOperations(this.state);
  }
}
