import { isDeepStrictEqual } from "node:util";
import { type Client, createClient } from "../api/client";
import { type Clock, systemClock } from "../operations/clock";
import { readSettings, type Settings } from "./settings";
import { Sightings } from "./sightings";
import { tokenSource } from "./tokens";

/** What all calls of a process share: the settings, one client, and what the client has seen. */
export interface Session {
  readonly settings: Settings;
  readonly client: Client;
  readonly sightings: Sightings;
  readonly clock: Clock;
}

/** Opened by the first call that needs the service: nothing is asked for by check and diff. */
export class Sessions {
  private stack: (key: string) => string | undefined = () => undefined;
  private opened: Session | undefined;
  private configured = true;

  constructor(
    private readonly environment: NodeJS.ProcessEnv,
    private readonly clock: Clock = systemClock,
  ) {}

  /**
   * The host does not wait for `configure` before it calls, so this does all its work at once. It comes once for each
   * kind, with the same settings: both share one session.
   */
  configure(stack: (key: string) => string | undefined): void {
    this.stack = stack;
    this.configured = true;
  }

  /** @throws CloudInfraError `config_missing`, `config_invalid` */
  open(): Session {
    if (this.opened !== undefined && !this.configured) return this.opened;
    const settings = readSettings(this.stack, this.environment);
    if (!isDeepStrictEqual(settings, this.opened?.settings)) this.opened = undefined;
    this.opened ??= openSession(settings, this.clock);
    this.configured = false;
    return this.opened;
  }
}

function openSession(settings: Settings, clock: Clock): Session {
  const { endpoint, allowHttp, concurrency, maxRequestsPerSecond, revisionField } = settings;
  const token = tokenSource(settings.token);
  const client = createClient({
    endpoint,
    allowHttp,
    token,
    clock,
    concurrency,
    maxRequestsPerSecond,
    revisionField,
  });
  return { settings, client, clock, sightings: new Sightings(client, clock, settings.operationTimeoutMs) };
}
