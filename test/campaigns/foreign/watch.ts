import type { Emulator, LoggedRequest } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import type { HostProvider } from "../../../src/provider/host";
import type { EngineResource } from "../host/resource";
import type { Ledger } from "./ledger";
import type { Race } from "./race";
import { type Circumstances, judged, undone } from "./refusal";
import type { Done, Somebody } from "./somebody";
import type { Fields } from "./targets";

/** The outcome of a call, and what is wrong with it. */
interface Judgement {
  readonly outcome: Race["outcome"];
  readonly wrong?: string;
}

/** Watches the provider's calls and the service's replies, to judge whether a failure has a valid reason. */
export class Watch {
  isRefreshing = false;
  /** The object at each read since the last request that could have changed it. */
  looks: (Fields | undefined)[] = [];
  /** Why the service rejects changes of the object with 409, since the call began. */
  private busy: ("being deleted" | "being updated" | undefined)[] = [];
  /** The provider's latest call and its arguments. */
  private call: { method: string; olds: Fields; news: Fields } = { method: "", olds: {}, news: {} };

  constructor(
    private readonly scene: { readonly emulator: Emulator; readonly ledger: Ledger },
    private readonly somebody: Somebody,
    private readonly resource: EngineResource,
    /** The names of properties that the program's updates ignore. */
    private readonly ignored: readonly string[],
  ) {}

  /** Wraps the provider to record its calls. */
  provider(provider: HostProvider): HostProvider {
    const { ledger } = this.scene;
    return {
      ...provider,
      create: (inputs) => {
        this.busy = [];
        this.call = { method: "create", olds: {}, news: inputs };
        return provider.create(inputs);
      },
      update: (id, olds, news) => {
        this.busy = [];
        this.call = { method: "update", olds: this.ours(olds), news: this.ours(news) };
        ledger.means(id, { olds: this.ours(olds), news: this.ours(news) });
        return provider.update(id, olds, news);
      },
      delete: (id, props) => {
        this.busy = [];
        this.call = { method: "delete", olds: props, news: {} };
        ledger.mayDelete(id);
        return provider.delete(id, props);
      },
    };
  }

  /** @returns the actions of somebody else after the request */
  answered(request: LoggedRequest): readonly Done[] {
    const { saved } = this.resource;
    if (this.isRefreshing && saved) this.scene.ledger.seen(saved.id);
    if (request.method === "PUT") this.looks = [];
    if (request.method !== "GET") this.busy.push(this.busyWith(request.path.split("/").at(-1) ?? ""));
    if (request.method === "GET" && saved)
      this.looks.push(structuredClone(this.scene.emulator.instances.get(saved.id)?.fields));
    const acts = this.somebody.done.length;
    this.somebody.answered(request);
    return this.somebody.done.slice(acts);
  }

  /** @param secrets the names of the program's secrets */
  outcomeOf(words: string, secrets: readonly string[]): Judgement {
    const { emulator } = this.scene;
    if (/name_taken \(409\)/.test(words) && this.isNameTaken()) return { outcome: "name taken" };
    const { method, olds, news } = this.call;
    const { done } = this.somebody;
    const { saved } = this.resource;
    const known: Circumstances = {
      ...{ olds: { ...olds }, news: { ...news }, secrets, looks: this.looks },
      changes: done.filter(({ when }) => when === "between").length,
      busy: this.busy,
      isUpdating: saved !== undefined && this.busyWith(saved.id) === "being updated",
      isDeleted: saved !== undefined && !emulator.instances.has(saved.id),
      undone: saved ? undone(done, saved.state, emulator.instances.get(saved.id)?.fields) : [],
    };
    const outcome =
      method === "create" ? { wrong: "nothing explains the failure" } : judged(words, known, method);
    if (typeof outcome === "string") return { outcome };
    return { outcome: "broken", wrong: `${method} failed: ${outcome.wrong}\n${words}` };
  }

  private ours(properties: Properties): Properties {
    return Object.fromEntries(Object.entries(properties).filter(([name]) => !this.ignored.includes(name)));
  }

  /** While an update of a deleted object is running, its name stays taken. */
  private isNameTaken(): boolean {
    const { behaviour, operations } = this.scene.emulator;
    const isRunning = [...operations.values()].some(({ outcome }) => outcome === "open");
    return behaviour.uniqueNames && (this.somebody.twins.length > 0 || isRunning);
  }

  /** Returns the running operation that makes the emulator reject an update or a deletion of an object. */
  private busyWith(id: string): "being deleted" | "being updated" | undefined {
    if (this.somebody.isDeleting(id)) return "being deleted";
    const running = [...this.scene.emulator.operations.values()].filter(
      ({ target, outcome }) => target.id === id && outcome === "open",
    );
    if (running.some(({ kind }) => kind === "delete")) return "being deleted";
    return running.length > 0 ? "being updated" : undefined;
  }
}
