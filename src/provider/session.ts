import { isDeepStrictEqual } from "node:util";
import { type Client, type ClientOptions, createClient } from "../api/client";
import { openConnections, readCertificates } from "../api/connections";
import { PROVIDER_NAME, readSettings, type Settings } from "../config/settings";
import { tokenSource } from "../config/token-source";
import { isCloudInfraError } from "../diagnostics/error";
import { cleanLine, type SecretForms } from "../diagnostics/redact";
import { type Journal, type JournalOptions, openJournal } from "../journal/journal";
import type { Kind, ObjectIdentity } from "../model/resource-fields";
import { type Clock, systemClock } from "../polling/clock";
import { ObjectFinder } from "./lookup/object-finder";
import { ResourceTracker } from "./resource-tracker";

/** The parts that all calls of a process share, such as the settings, the client and the journal. */
export interface Session {
  readonly settings: Settings;
  readonly client: Client;
  readonly finder: ObjectFinder;
  /** The journal, which records each creation on disk. */
  readonly journal: Journal;
  readonly clock: Clock;
  readonly tracker: ResourceTracker;
  /** Prints a warning without secrets and control characters. The call doesn't fail. */
  readonly warn: (message: string) => Promise<void>;
  /** Closes the connections. */
  close(): Promise<void>;
}

/** Replacements for the network, the disk and random numbers in tests, and the options that `probe` changes. */
export interface SessionOverrides
  extends Partial<Pick<ClientOptions, "dispatcher" | "random" | "observe" | "retry">> {
  readonly disk?: JournalOptions["disk"];
  /** The run of the engine that started this process. @default none */
  readonly run?: JournalOptions["run"];
}

/** Opens the session of this process on first use, because a check or a diff may run without settings. */
export class Sessions {
  private configured: (key: string) => string | undefined = () => undefined;
  private session: Session | undefined;
  /** Whether the session has the settings of the last call of `configure`. */
  private isCurrent = false;
  /** Tracks the resources that check and diff have processed. The tracker requires no settings. */
  readonly tracker = new ResourceTracker();

  constructor(
    private readonly environment: NodeJS.ProcessEnv,
    readonly clock: Clock = systemClock,
    readonly printWarning: (message: string) => void | Promise<void> = console.warn,
    private readonly outside: SessionOverrides = {},
  ) {}

  /**
   * Sets the settings. The host calls this method once for each kind, with the same settings. The method is synchronous, because the host
   * doesn't wait before it makes other calls.
   */
  configure(configured: (key: string) => string | undefined): void {
    this.configured = configured;
    this.isCurrent = false;
  }

  /**
   * Returns the session of this process, and opens it if necessary.
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

  /** The name of the explicit provider that this process serves, or `undefined` for the default provider. */
  get provider(): string | undefined {
    return this.configured(PROVIDER_NAME);
  }

  /** The tokens that this process has used. */
  get tokens(): readonly string[] {
    return this.session?.client.tokens ?? [];
  }

  /** All tokens and secrets of this process. Messages must not contain them, although replies may contain them. */
  get secrets(): SecretForms {
    return this.tracker.secrets.add(this.tokens);
  }

  /** Removes secrets and control characters from a message of one line. */
  clean(message: string): string {
    return cleanLine(message, this.secrets);
  }

  /** Returns the session for check and diff, or `undefined` in a preview without valid settings. */
  openIfConfigured(): Session | undefined {
    try {
      return this.open();
    } catch (error) {
      if (isCloudInfraError(error)) return undefined; // the first call that needs the settings reports the error
      throw error;
    }
  }

  /** The journal, or `undefined` in a preview without valid settings. */
  get journal(): Journal | undefined {
    return this.openIfConfigured()?.journal;
  }

  /** Returns the identity of an object. Without settings, the endpoint in the identity is empty. */
  identityOf(kind: Kind, id: string): ObjectIdentity {
    return { endpoint: this.openIfConfigured()?.client.endpoint ?? "", kind: kind.name, id };
  }

  /** The session of this process, or `undefined` if no call has opened it yet. */
  get opened(): Session | undefined {
    return this.session;
  }

  private openSession(settings: Settings): Session {
    const { clock, environment: env, tracker } = this;
    const warn = async (message: string): Promise<void> => this.printWarning(this.clean(message));
    const { disk, run, observe, retry, random = Math.random } = this.outside;
    const { provider, allowHttp, concurrency, caFile } = settings;
    const authorities = caFile === undefined ? undefined : readCertificates(caFile);
    const dispatcher = this.outside.dispatcher ?? openConnections({ env, authorities, concurrency });
    const client = createClient({
      ...settings,
      endpointSetting: provider === undefined ? undefined : `the endpoint of the provider "${provider}"`,
      token: tokenSource(settings.token, { clock, dispatcher, env, allowHttp, random }),
      clock,
      random,
      dispatcher,
      observe,
      retry,
    });
    const finder = new ObjectFinder(client, clock, settings.operationTimeoutMs);
    const journal = openJournal({
      endpoint: client.endpoint,
      dir: settings.journalDir,
      organization: () => tracker.organization,
      projectFolder: () => tracker.projectFolder,
      run,
      token: () => client.tokens[0] ?? "",
      env,
      warn,
      disk,
    });
    return { settings, client, finder, journal, clock, tracker, warn, close: () => dispatcher.close() };
  }
}
