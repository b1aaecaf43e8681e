import type { FaultRule } from "../../src/emulator";
import type { Properties } from "../../src/model/state";
import { Sessions } from "../../src/provider/context";
import { findInstances } from "../../src/provider/functions";
import { instanceNews, projectNews } from "../provider/samples";
import {
  changed,
  existingInstance,
  existingProject,
  failureOf,
  type Service,
  startService,
} from "../provider/service";
import { creating } from "./creating";
import { lasting, type Provocation } from "./provocation";

const fault =
  (rule: FaultRule) =>
  ({ emulator }: Service) =>
    emulator.fail(lasting(rule));

/** Returns the message of a call for an existing instance, after `spoil` changed the service. */
async function later(
  call: "read" | "update" | "delete",
  spoil: (service: Service, id: string) => unknown,
  more: Properties = {},
): Promise<string> {
  const service = await startService();
  const saved = await existingInstance(service, more);
  await spoil(service, saved.id);
  const { id, state } = saved;
  const { instances } = service;
  const work =
    call === "update"
      ? instances.update(id, state, changed(saved, { flavor: "m1.large" }))
      : instances[call](id, state);
  return (await failureOf(work)).message;
}

/** Makes the service accept the deletion without deleting the object. */
const unconfirmed = (service: Service, id: string) =>
  fault({ method: "DELETE", kind: "status", status: 200, problem: { id } })(service);

/** Returns the message of `getInstances`, after `spoil` changed the service. */
async function listing(filter: Properties, spoil: (service: Service) => unknown): Promise<string> {
  const service = await startService();
  spoil(service);
  const { endpoint, token } = service.emulator;
  const settings = new Map(Object.entries({ endpoint, token }));
  const setting = (key: string) => settings.get(key.replace("cloudinfra:", ""));
  return (await failureOf(findInstances(setting, filter, new Sessions({}, service.clock)))).message;
}

export const ofRequests: readonly Provocation[] = [
  {
    code: "forbidden",
    when: "a request without permission",
    provoke: () => creating(fault({ kind: "status", status: 403 })),
  },
  {
    code: "forbidden",
    when: "an account without visible objects",
    provoke: () =>
      later("read", ({ emulator }, id) => {
        emulator.remove(id);
        for (const project of [...emulator.projects.keys()]) emulator.remove(project);
      }),
  },
  {
    code: "forbidden",
    when: "an instance that was created after the instance in the state",
    provoke: () =>
      later("read", ({ emulator }, id) => {
        const one = emulator.instances.get(id);
        return one && Object.assign(one, { createdAt: one.createdAt + 24 * 3_600_000 });
      }),
  },
  {
    code: "not_found",
    when: "the project of an instance",
    provoke: () => creating(() => {}, { project: "prj-none" }),
  },
  {
    code: "not_found",
    when: "a new project, or the list of projects",
    provoke: async () => {
      const service = await startService();
      const { projects } = await service.newProviders({ endpoint: `${service.emulator.url}/wrong` });
      return (await failureOf(projects.create(projectNews()))).message;
    },
  },
  {
    code: "not_found",
    when: "a list of instances",
    provoke: async () => {
      const service = await startService();
      const { instances } = await service.newProviders({ endpoint: `${service.emulator.url}/wrong` });
      const { __provider, __urn } = instanceNews();
      return (await failureOf(instances.read("ins-5a2e", { __provider, __urn }))).message;
    },
  },
  {
    code: "not_found",
    when: "an update of an instance that no longer exists",
    provoke: () => later("update", ({ emulator }, id) => emulator.remove(id)),
  },
  {
    code: "not_found",
    when: "an update that returns 404, although the instance still exists",
    provoke: () => later("update", fault({ method: "PUT", kind: "status", status: 404 })),
  },
  {
    code: "not_found",
    when: "a lookup of an object that doesn't exist",
    provoke: async () => {
      const service = await startService();
      service.emulator.addProject();
      const { __provider, __urn } = instanceNews();
      return (await failureOf(service.instances.read("ins-none", { __provider, __urn }))).message;
    },
  },
  {
    code: "not_found",
    when: "an unknown id in the `import` option",
    provoke: () => creating(() => {}, { __import: "ins-none" }),
  },
  {
    code: "refused",
    when: "a creation",
    provoke: () =>
      creating(
        ({ emulator }) => emulator.refuse("flavor", "m9.huge", { detail: "flavor 'm9.huge' does not exist" }),
        { flavor: "m9.huge" },
      ),
  },
  {
    code: "refused",
    when: "a request that is too large",
    provoke: () => creating(fault({ kind: "status", status: 413, problem: { code: "too_large" } })),
  },
  {
    code: "refused",
    when: "a change in place",
    provoke: () => later("update", ({ emulator }) => emulator.refuseUpdatesOf("flavor")),
  },
  {
    code: "refused",
    when: "a deletion",
    provoke: () =>
      later(
        "delete",
        fault({ method: "DELETE", kind: "status", status: 422, problem: { code: "instance_locked" } }),
      ),
  },
  {
    code: "refused",
    when: "a list in a program",
    provoke: () => {
      const errors = [{ field: "status", detail: "must be one of creating, running, stopped" }];
      return listing(
        { status: "runing" },
        fault({ kind: "status", status: 422, problem: { code: "validation_failed", errors } }),
      );
    },
  },
  {
    code: "refused",
    when: "a read",
    provoke: () => later("read", fault({ method: "GET", kind: "status", status: 400 })),
  },
  {
    code: "conflict",
    when: "a name that is taken",
    provoke: () =>
      creating(({ emulator }) => {
        emulator.behaviour.uniqueNames = true;
        const [project = ""] = emulator.projects.keys();
        emulator.addInstance({ project, name: "web" });
      }),
  },
  {
    code: "conflict",
    when: "a deletion",
    provoke: async () => {
      const service = await startService();
      const { id, state } = await existingProject(service);
      service.emulator.addInstance({ project: id });
      const { projects } = await service.newProviders();
      return (await failureOf(projects.delete(id, state))).message;
    },
  },
  {
    code: "revision_conflict",
    when: "a property that another client changed",
    provoke: () => later("update", ({ emulator }, id) => emulator.edit(id, { network: "backend" })),
  },
  {
    code: "revision_conflict",
    when: "a rejected revision without a change",
    provoke: () => later("update", fault({ method: "PUT", kind: "status", status: 412 })),
  },
  {
    code: "revision_conflict",
    when: "a deletion",
    provoke: () => later("delete", fault({ method: "DELETE", kind: "status", status: 412 })),
  },
  {
    code: "rate_limited",
    when: "a persistent rate limit",
    provoke: () => creating(fault({ kind: "status", status: 429 })),
  },
  {
    code: "unavailable",
    when: "a creation with an unknown outcome",
    provoke: () => creating(fault({ method: "POST", kind: "status", status: 503 })),
  },
  {
    code: "unavailable",
    when: "a read",
    provoke: () => later("read", fault({ kind: "status", status: 503 })),
  },
  {
    code: "unreachable",
    when: "a failed connection",
    provoke: () => creating(({ emulator }) => emulator.stop()),
  },
  {
    code: "unreachable",
    when: "a lost connection",
    provoke: () => later("read", fault({ kind: "reset" })),
  },
  {
    code: "unreachable",
    when: "an https endpoint on a server without TLS",
    provoke: async () => {
      const service = await startService();
      const { instances } = await service.newProviders({
        endpoint: service.emulator.url.replace("http:", "https:"),
      });
      return (await failureOf(instances.create(instanceNews()))).message;
    },
  },
  {
    code: "timeout",
    when: "a read",
    provoke: () => later("read", fault({ kind: "status", status: 503, retryAfter: 7_200 })),
  },
  {
    code: "timeout",
    when: "a list in a program, or in `npx pulumi-cloudinfra import`",
    provoke: () => listing({}, fault({ kind: "status", status: 503, retryAfter: 7_200 })),
  },
  {
    code: "timeout",
    when: "a deletion",
    provoke: () => later("delete", unconfirmed),
  },
  {
    code: "timeout",
    when: "a deletion with `customTimeouts`",
    provoke: () => later("delete", unconfirmed, { __timeouts: { delete: "10m" } }),
  },
  {
    code: "timeout",
    when: "a resource with `customTimeouts`",
    provoke: () =>
      later("update", fault({ kind: "status", status: 503, retryAfter: 7_200 }), {
        __timeouts: { update: "10m" },
      }),
  },
  {
    code: "timeout",
    when: "a Retry-After that exceeds the time limit",
    provoke: () => later("update", fault({ kind: "status", status: 503, retryAfter: 7_200 })),
  },
  {
    code: "not_this_service",
    when: "a web page",
    provoke: () => creating(fault({ kind: "html", status: 200 })),
  },
  {
    code: "not_this_service",
    when: "a redirect",
    provoke: () => creating(fault({ kind: "status", status: 302, location: "https://login.example.com/" })),
  },
  {
    code: "bad_reply",
    when: "an empty reply",
    provoke: () => later("read", fault({ method: "GET", kind: "empty" })),
  },
  {
    code: "unsupported",
    when: "any other unsupported request",
    provoke: () => creating(fault({ method: "POST", kind: "status", status: 405 })),
  },
  {
    code: "unsupported",
    when: "a change in place",
    provoke: () => later("update", fault({ method: "PUT", kind: "status", status: 405 })),
  },
  {
    code: "unsupported",
    when: "an unsupported deletion",
    provoke: () =>
      later("delete", ({ emulator }) => {
        emulator.behaviour.deleteObject = 405;
      }),
  },
  {
    code: "import_differs",
    when: "an image that differs from the one in the program",
    provoke: async () => {
      const service = await startService();
      const project = service.emulator.addProject().id;
      const other = { name: "web", image: "ubuntu-24.04", flavor: "m1.small", network: "default" };
      const { id } = service.emulator.addInstance({ project, ...other });
      return (await failureOf(service.instances.create(instanceNews({ project, __import: id })))).message;
    },
  },
];
