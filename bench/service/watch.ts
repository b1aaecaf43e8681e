import diagnostics from "node:diagnostics_channel";
import type { Emulator, LoggedRequest } from "../../src/emulator";
import type { Counts, Report } from "./messages";

/** Counts the requests of a service. */
export class Watch {
  private readonly kinds = new Map<string, number>();
  private readonly perSecond: number[] = [];
  private readonly overshootMs = new Map<string, number>();
  private first: number | undefined;
  private refused = 0;
  private connections = 0;

  constructor() {
    diagnostics.subscribe("net.server.socket", () => {
      this.connections += 1;
    });
  }

  answered({ method, path, status, at }: LoggedRequest, emulator: Emulator): void {
    const [collection = "", id = ""] = path.split("/").filter((part) => !/^v\d+$/.test(part) && part !== "");
    const kind = `${method === "GET" && id === "" ? "LIST" : method} ${collection}`;
    this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1);
    this.first ??= at;
    const second = Math.max(0, Math.floor((at - this.first) / 1_000));
    while (this.perSecond.length <= second) this.perSecond.push(0);
    this.perSecond[second] = (this.perSecond[second] ?? 0) + 1;
    if (status === 429) this.refused += 1;
    else if (collection === "operations" && !this.overshootMs.has(id)) {
      const operation = emulator.operations.get(id);
      if (operation !== undefined && operation.endsAt <= at) this.overshootMs.set(id, at - operation.endsAt);
    }
  }

  get counts(): Counts {
    return Object.fromEntries(this.kinds);
  }

  get report(): Report {
    const { perSecond, refused, connections, overshootMs } = this;
    return { perSecond, refused, connections, overshootMs: [...overshootMs.values()] };
  }
}
