import type { Emulator, LoggedRequest } from "../../../src/emulator";
import type { HostProvider } from "../../../src/provider/host";
import type { EngineResource } from "../host/resource";
import type { Ledger } from "./ledger";
import type { Race } from "./race";
import { type Circumstances, judged, undone } from "./refusal";
import type { Done, Somebody } from "./somebody";
import type { Fields } from "./targets";

/** How a call ended, and what is wrong with that. */
interface Judgement {
  readonly outcome: Race["outcome"];
  readonly wrong?: string;
}

/** Watches the provider's calls and the service's answers, and so knows what a failure may be due to. */
export class Watch {
  isRefreshing = false;
  /** The object at each look since the last request that could have changed it. */
  looks: (Fields | undefined)[] = [];
  /** What the provider was called for last, and about what. */
  private call: { method: string; olds: Fields; news: Fields } = { method: "", olds: {}, news: {} };

  constructor(
    private readonly scene: { readonly emulator: Emulator; readonly ledger: Ledger },
    private readonly somebody: Somebody,
    private readonly resource: EngineResource,
  ) {}

  /** The provider, of whose calls this knows. */
  provider(provider: HostProvider): HostProvider {
    const { ledger } = this.scene;
    return {
      ...provider,
      create: (inputs) => {
        this.call = { method: "create", olds: {}, news: inputs };
        return provider.create(inputs);
      },
      update: (id, olds, news) => {
        this.call = { method: "update", olds, news };
        ledger.means(id, { olds, news });
        return provider.update(id, olds, news);
      },
      delete: (id, props) => {
        this.call = { method: "delete", olds: props, news: {} };
        ledger.mayDelete(id);
        return provider.delete(id, props);
      },
    };
  }

  /** @returns what somebody has done upon it */
  answered(request: LoggedRequest): readonly Done[] {
    const { saved } = this.resource;
    if (this.isRefreshing && saved) this.scene.ledger.seen(saved.id);
    if (request.method === "PUT") this.looks = [];
    if (request.method === "GET" && saved)
      this.looks.push(structuredClone(this.scene.emulator.instances.get(saved.id)?.fields));
    const acts = this.somebody.done.length;
    this.somebody.answered(request);
    return this.somebody.done.slice(acts);
  }

  /** @param secrets names of the program's secrets */
  outcomeOf(words: string, secrets: readonly string[]): Judgement {
    const { emulator } = this.scene;
    if (emulator.behaviour.uniqueNames && this.somebody.twins.length > 0 && /name_taken \(409\)/.test(words))
      return { outcome: "name taken" };
    const { method, olds, news } = this.call;
    // The emulator rejects the deletion of an instance that is busy; the fault `empty` may take away the reason.
    if (method === "delete" && /\(409\)/.test(words)) return { outcome: "being deleted" };
    const { done } = this.somebody;
    const { saved } = this.resource;
    const known: Circumstances = {
      ...{ olds: { ...olds }, news: { ...news }, secrets, looks: this.looks },
      changes: done.filter(({ when }) => when === "between").length,
      isBeingDeleted: done.some(({ deed }) => deed.kind === "begin to delete"),
      undone: saved ? undone(done, saved.state, emulator.instances.get(saved.id)?.fields) : [],
    };
    const outcome = method === "update" ? judged(words, known) : { wrong: "nothing explains that" };
    if (typeof outcome === "string") return { outcome };
    return { outcome: "broken", wrong: `${method} failed: ${outcome.wrong}\n${words}` };
  }
}
