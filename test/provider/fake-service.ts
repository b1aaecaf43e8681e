import type { ApiObject, Client, Page } from "../../src/api/client";
import { collect } from "../../src/api/pagination";
import { CloudInfraError } from "../../src/diagnostics/error";

/** How a fake service answers a GET of one object. */
export type GetAnswer = "offered" | "404 to all" | "405" | "403";

/** A fake client of a service, with its objects by id and a log of the requests. */
export class FakeService {
  readonly projects = new Map<string, ApiObject>();
  readonly instances = new Map<string, ApiObject>();
  /** The requests in order, such as `GET instances ins-1` and `LIST instances prj-1`. */
  readonly asked: string[] = [];
  getAnswer: GetAnswer = "offered";
  pageSize = 200;
  /** Ids of objects that lists omit. */
  readonly unlisted = new Set<string>();
  /** Ids of objects that GET doesn't find. */
  readonly unread = new Set<string>();
  /** The error of all further requests, if any. */
  failure: CloudInfraError | undefined;
  /** Called during each request, for example to change an object. */
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
      throw new Error("a fake service is read-only");
    };
    const writes = { create: refuse, update: refuse, delete: refuse };
    const projects = (): AsyncIterable<Page> => this.pages("projects", () => true);
    const instances = ({ project }: { project?: string | undefined }): AsyncIterable<Page> =>
      this.pages("instances", ({ fields }) => project === undefined || fields.project === project, project);
    return {
      endpoint: "https://api.example.com/v1",
      tokens: [],
      tokenOrigin: "a test",
      get: refuse,
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
      operations: { poll: refuse },
      resultId: () => undefined,
      readResult: refuse,
    };
  }

  private async get(kind: "projects" | "instances", id: string): Promise<ApiObject> {
    await this.ask(`GET ${kind} ${id}`);
    if (this.failure) throw this.failure;
    if (this.getAnswer === "403") throw new CloudInfraError("forbidden", "403", { status: 403 });
    if (this.getAnswer === "405") throw new CloudInfraError("unsupported", "405", { status: 405 });
    const found = this[kind].get(id);
    if (found === undefined || this.unread.has(id) || this.getAnswer === "404 to all")
      throw new CloudInfraError("not_found", "404", { status: 404 });
    return found;
  }

  /** Yields the pages of a list. All of them show the objects that exist at the first request. */
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
    await Promise.resolve(); // the reply never arrives before the caller continues
    this.whenAsked(request);
  }
}
