import type { ApiObject } from "../api/client";
import type { Clock } from "../operations/clock";

/** Every object of a list, by id. */
export type Objects = ReadonlyMap<string, ApiObject>;

const USABLE_FOR_MS = 30_000;

/** One list of the service, shared by all who ask for it at about the same time. */
export class Sweep {
  private running: Promise<Objects> | undefined;
  private queued: Promise<Objects> | undefined;
  private last: { readonly objects: Objects; readonly at: number } | undefined;

  constructor(
    private readonly list: () => Promise<ApiObject[]>,
    private readonly clock: Clock,
  ) {}

  /** Whether {@link recent} would need no new list. */
  get usable(): boolean {
    return this.running !== undefined || this.fresh !== undefined;
  }

  /** A sweep that is running, or ended in the last 30 s and before nothing was written, or else a new one. */
  async recent(): Promise<Objects> {
    return this.fresh ?? this.running ?? this.start();
  }

  /** A sweep that begins after this call. Callers that wait for the running one to end share the next. */
  after(): Promise<Objects> {
    if (this.running === undefined) return this.start();
    this.queued ??= this.running.then(
      () => this.startQueued(),
      () => this.startQueued(),
    );
    return this.queued;
  }

  /** This process has changed something: what was seen before no longer counts. */
  forget(): void {
    this.last = undefined;
    this.running = undefined;
  }

  private get fresh(): Objects | undefined {
    const { last } = this;
    return last !== undefined && this.clock.now() - last.at <= USABLE_FOR_MS ? last.objects : undefined;
  }

  private startQueued(): Promise<Objects> {
    this.queued = undefined;
    return this.start();
  }

  private start(): Promise<Objects> {
    const sweep = this.list().then((items) => new Map(items.map((item) => [item.id, item])));
    this.running = sweep;
    const end = (objects?: Objects): void => {
      if (this.running !== sweep) return; // something was written meanwhile
      this.running = undefined;
      this.last = objects && { objects, at: this.clock.now() };
    };
    sweep.then(end, () => end());
    return sweep;
  }
}
