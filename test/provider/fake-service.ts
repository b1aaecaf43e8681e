import type { ApiObject, Client, Page } from "../../src/api/client";
import { collect } from "../../src/api/collections";
import { CloudInfraError } from "../../src/diagnostics/error";

/** What a fake service answers a GET of one object. */
export type GetAnswer = "offered" | "404 to all" | "405";

/** A service as the client shows it, made by hand: objects by id, and a list of what was asked. */
export class FakeService {
  readonly projects = new Map<string, ApiObject>();
  readonly instances = new Map<string, ApiObject>();
  /** `GET instances ins-1`, `LIST instances prj-1`, … in the order in which they came. */
  readonly asked: string[] = [];
  getAnswer: GetAnswer = "offered";
  pageSize = 200;
  /** Objects that GET shows and lists do not. */
  readonly unlisted = new Set<string>();
  /** Objects that lists show and GET does not. */
  readonly unread = new Set<string>();
  /** What the next requests fail with. */
  failure: CloudInfraError | undefined;
  /** Called while a request is under way: time for something to happen. */
  whenAsked: (request: string) => void = () => {};

  addProject(id: string): void {
    this.projects.set(id, { id, fields: { id, name: id, region: "eu-1" } });
  }

  addInstance(id: string, project: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.instances.set(id, { id, fields: { id, project, status: "running", ...fields } });
  }

  countOf(kind: "GET" | "LIST"): number {
    return this.asked.filter((request) => request.startsWith(kind)).length;
  }

  client(): Client {
    const refuse = async (): Promise<never> => {
      throw new Error("nothing is to be written here");
    };
    const writes = { create: refuse, update: refuse, delete: refuse };
    const projects = (): AsyncIterable<Page> => this.pages("projects", () => true);
    const instances = ({ project }: { project?: string | undefined }): AsyncIterable<Page> =>
      this.pages("instances", ({ fields }) => project === undefined || fields.project === project, project);
    return {
      endpoint: "https://api.example.com/v1",
      tokens: [],
      projects: {
        ...writes,
        get: (id) => this.get("projects", id),
        list: () => collect(projects()),
        pages: projects,
      },
      instances: {
        ...writes,
        get: (id) => this.get("instances", id),
        list: (filter) => collect(instances(filter)),
        pages: instances,
      },
      operations: { poll: refuse, get: refuse },
      resultId: () => undefined,
      readResult: refuse,
    };
  }

  private async get(kind: "projects" | "instances", id: string): Promise<ApiObject> {
    await this.ask(`GET ${kind} ${id}`);
    if (this.failure) throw this.failure;
    if (this.getAnswer === "405") throw new CloudInfraError("unsupported", "405", { status: 405 });
    const found = this[kind].get(id);
    if (found === undefined || this.unread.has(id) || this.getAnswer === "404 to all")
      throw new CloudInfraError("not_found", "404", { status: 404 });
    return found;
  }

  /** The list as it is when its first page is asked for. */
  private async *pages(
    kind: "projects" | "instances",
    matches: (object: ApiObject) => boolean,
    project?: string,
  ): AsyncGenerator<Page, void, undefined> {
    const seen = [...this[kind].values()].filter(
      (object) => matches(object) && !this.unlisted.has(object.id),
    );
    for (let at = 0; at === 0 || at < seen.length; at += this.pageSize) {
      await this.ask(["LIST", kind, project].filter((part) => part !== undefined).join(" "));
      if (this.failure) throw this.failure;
      yield { objects: seen.slice(at, at + this.pageSize), isLast: at + this.pageSize >= seen.length };
    }
  }

  private async ask(request: string): Promise<void> {
    this.asked.push(request);
    await Promise.resolve(); // an answer never comes before the caller has gone on
    this.whenAsked(request);
  }
}
