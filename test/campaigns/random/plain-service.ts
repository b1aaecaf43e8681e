import { type Behaviour, defaultBehaviour } from "../../../src/emulator/behaviour";
import { FirstReplies } from "../../../src/emulator/idempotency";
import { updateInstance } from "../../../src/emulator/instance-update";
import { createInstance, deleteInstance, getInstance, listInstances } from "../../../src/emulator/instances";
import { getOperation } from "../../../src/emulator/operations";
import {
  methodNotAllowed,
  notFound,
  problemOf,
  problemReply,
  type Refusal,
} from "../../../src/emulator/problems";
import { createProject, deleteProject, getProject, listProjects } from "../../../src/emulator/projects";
import type { Reply } from "../../../src/emulator/reply";
import type { EmulatorRequest } from "../../../src/emulator/request";
import { type Handler, State } from "../../../src/emulator/state";

/** The emulator's endpoints without a port, and with ids that come in the same order each time. */
export class PlainService {
  readonly state: State;
  private readonly firstReplies = new FirstReplies();

  constructor(behaviour: Partial<Behaviour>, origin: string, now: () => number) {
    this.state = new CountedState({ ...defaultBehaviour, ...behaviour }, now);
    this.state.url = origin;
  }

  answer(request: EmulatorRequest): Reply {
    this.settle();
    const key = request.headers["idempotency-key"];
    if (request.method !== "POST" || typeof key !== "string") return this.work(request);
    const first = this.firstReplies.find(request, key, this.state.now());
    if (first !== undefined) return this.replyTo(request, first);
    const reply = this.work(request);
    this.firstReplies.keep(request, key, this.state.now(), reply);
    return reply;
  }

  /** Ends the operations whose time has come. */
  settle(): void {
    this.state.operations.settle(this.state.now());
  }

  private work(request: EmulatorRequest): Reply {
    const [, , collection = "", id] = request.path.split("/");
    const handler = HANDLERS[`${request.method} ${collection}${id === undefined ? "" : "/id"}`];
    const isKnown = ["projects", "instances", "operations"].includes(collection);
    if (handler === undefined)
      return this.replyTo(request, isKnown ? methodNotAllowed("GET") : notFound(request.path));
    return this.replyTo(request, handler(this.state, request, decoded(id ?? "")));
  }

  private replyTo({ path }: EmulatorRequest, answer: Reply | Refusal): Reply {
    if (!("code" in answer)) return answer;
    return problemReply(problemOf(answer, path, this.state.newTraceId()), answer.status, {
      ...answer.headers,
    });
  }
}

const HANDLERS: Readonly<Record<string, Handler>> = {
  "GET projects": listProjects,
  "POST projects": createProject,
  "GET projects/id": getProject,
  "DELETE projects/id": deleteProject,
  "GET instances": listInstances,
  "POST instances": createInstance,
  "GET instances/id": getInstance,
  "PUT instances/id": updateInstance,
  "DELETE instances/id": deleteInstance,
  "GET operations/id": getOperation,
};

class CountedState extends State {
  private ids = 0;

  override newId(prefix: "prj" | "ins" | "op"): string {
    this.ids += 1;
    return `${prefix}-${String(this.ids).padStart(6, "0")}x`;
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
