import { isDeepStrictEqual } from "node:util";
import { type Client, type ClientOptions, createClient } from "../api/client";
import { openConnections } from "../api/connections";
import { readSettings, type Settings } from "../config/read-settings";
import { readCertificates } from "../config/setting-files";
import { PROVIDER_NAME } from "../config/settings";
import { tokenSource } from "../config/token-source";
import { isCloudInfraError } from "../diagnostics/error";
import { type Journal, type JournalOptions, openJournal } from "../journal/journal";
import type { ObjectIdentity } from "../model/identity";
import type { Kind } from "../model/kinds";
import { type Clock, systemClock } from "../polling/clock";
import { ObjectFinder } from "./lookup/object-finder";
import { ResourceTracker } from "./tracker";

/** What all calls of a process share: the settings, one client, and what the client has seen. */
export interface Session {
  readonly settings: Settings;
  readonly client: Client;
  readonly finder: ObjectFinder;
  /** What creations leave on disk for the next `up`. */
  readonly journal: Journal;
  readonly clock: Clock;
  readonly tracker: ResourceTracker;
  /** Tells the user what is no failure. */
  readonly warn: (message: string) => void | Promise<void>;
  /** Gives the connections back. */
  close(): Promise<void>;
}

/** What stands in for the network and the disk of this machine, where something does: in tests. */
export interface SessionOverrides extends Pick<ClientOptions, "dispatcher" | "random"> {
  readonly disk?: JournalOptions["disk"];
  /** Identifies the run of the engine that started this process. @default none */
  readonly run?: JournalOptions["run"];
}

/** Opened by the first call that needs the service: nothing is asked for by check and diff. */
export class Sessions {
  private configured: (key: string) => string | undefined = () => undefined;
  private session: Session | undefined;
  /** Whether it has the settings of the last `configure`. */
  private isCurrent = false;
  /** What check and diff saw; they need no settings. */
  readonly tracker = new ResourceTracker();

  constructor(
    private readonly environment: NodeJS.ProcessEnv,
    readonly clock: Clock = systemClock,
    readonly warn: (message: string) => void | Promise<void> = console.warn,
    private readonly outside: SessionOverrides = {},
  ) {}

  /**
   * The host does not wait for `configure` before it calls, so this does all its work at once. It comes once for each
   * kind, with the same settings: both share their sessions.
   */
  configure(configured: (key: string) => string | undefined): void {
    this.configured = configured;
    this.isCurrent = false;
  }

  /**
   * The one session of this process.
   *
   * @throws CloudInfraError `config_missing`, `config_invalid`
   */
  open(): Session {
    if (this.session !== undefined && this.isCurrent) return this.session;
    const settings = readSettings(this.configured, this.environment);
    const isSame = this.session !== undefined && isDeepStrictEqual(settings, this.session.settings);
    if (this.session === undefined || !isSame) this.session = this.openSession(settings);
    this.isCurrent = true;
    return this.session;
  }

  /** The name of the explicit provider that this process serves. Undefined for the default provider. */
  get provider(): string | undefined {
    return this.configured(PROVIDER_NAME);
  }

  /** The tokens that requests of this process have used: replies and other programs may repeat them. */
  get tokens(): readonly string[] {
    return this.session?.client.tokens ?? [];
  }

  /** The session for check and diff: in a preview without settings there is none. */
  openIfConfigured(): Session | undefined {
    try {
      return this.open();
    } catch (error) {
      if (isCloudInfraError(error)) return undefined; // whoever needs the settings will say what is wrong with them
      throw error;
    }
  }

  /** The journal. Undefined in a preview without settings. */
  get journal(): Journal | undefined {
    return this.openIfConfigured()?.journal;
  }

  /** Identifies an object. Without settings, its endpoint isn't known. */
  identityOf(kind: Kind, id: string): ObjectIdentity {
    return { endpoint: this.openIfConfigured()?.client.endpoint ?? "", kind: kind.name, id };
  }

  /** The session, if any call of this process needed it. */
  get opened(): Session | undefined {
    return this.session;
  }

  private openSession(settings: Settings): Session {
    const { clock, environment: env, warn, outside } = this;
    const { disk, random = Math.random } = outside;
    const { endpoint, allowHttp, concurrency, maxRequestsPerSecond, revisionField, journalDir, caFile } =
      settings;
    const authorities = caFile === undefined ? undefined : readCertificates(caFile);
    const dispatcher = outside.dispatcher ?? openConnections({ env, authorities, concurrency });
    const client = createClient({
      endpoint,
      endpointSetting:
        settings.provider === undefined ? undefined : `the endpoint of the provider "${settings.provider}"`,
      allowHttp,
      token: tokenSource(settings.token, { clock, dispatcher, env, allowHttp, random }),
      clock,
      concurrency,
      maxRequestsPerSecond,
      revisionField,
      random,
      dispatcher,
    });
    const finder = new ObjectFinder(client, clock, settings.operationTimeoutMs);
    const journal = openJournal({
      endpoint: client.endpoint,
      dir: journalDir,
      organization: () => this.tracker.organization,
      projectFolder: () => this.tracker.projectFolder,
      run: outside.run,
      token: () => client.tokens[0] ?? "",
      env,
      warn,
      disk,
    });
    return {
      settings,
      client,
      finder,
      journal,
      clock,
      tracker: this.tracker,
      warn,
      close: () => dispatcher.close(),
    };
  }
}
