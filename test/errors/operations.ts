import type { Behaviour } from "../../src/emulator";
import type { Properties } from "../../src/model/state";
import { InitializationError } from "../../src/provider/host";
import { oneInstance } from "../provider/one-instance";
import { instanceNews } from "../provider/samples";
import { changed, existingInstance, failureOf, type Service, startService } from "../provider/service";
import { creating } from "./creating";
import { lasting, type Provocation } from "./provocation";

/** Returns the message of a deletion at a service that deletes instances in operations. */
async function deleting(behaviour: Partial<Behaviour>, more: Properties = {}): Promise<string> {
  const service = await startService({ behaviour: { ...behaviour, deleteObject: 202 } });
  const { id, state } = await existingInstance(service, more);
  return (await failureOf(service.instances.delete(id, state))).message;
}

/** Deletes an instance whose update is in progress, until its operation no longer exists. */
async function deletingDuringUpdate(): Promise<string> {
  const service = await startService();
  const { emulator, instances } = service;
  const { id, inputs, state } = await existingInstance(service, { __timeouts: { update: "10s" } });
  Object.assign(emulator.behaviour, { putReply: 202, operationMs: DAY_MS });
  const partial = await failureOf(instances.update(id, state, { ...inputs, flavor: "m1.large" }));
  if (!(partial instanceof InitializationError)) throw partial;
  emulator.fail(lasting({ method: "DELETE", kind: "status", status: 409 }));
  emulator.fail(lasting({ method: "GET", path: "/v1/operations/", kind: "status", status: 404, after: 1 }));
  return (await failureOf(instances.delete(id, partial.properties))).message;
}

const DAY_MS = 86_400_000;

export const ofOperations: readonly Provocation[] = [
  {
    code: "operation_failed",
    when: "a failed operation",
    provoke: () =>
      creating(({ emulator }) =>
        emulator.failNextOperation({
          problem: { code: "quota_exceeded", detail: "no more than 20 instances in eu-1" },
        }),
      ),
  },
  {
    code: "operation_timeout",
    when: "a creation that takes longer than `customTimeouts` or `operationTimeout`",
    provoke: () =>
      creating(({ emulator }) => {
        emulator.behaviour.operationMs = DAY_MS;
      }),
  },
  {
    code: "operation_unknown",
    when: "an operation that no longer exists",
    provoke: () =>
      creating(({ emulator }) =>
        emulator.fail(lasting({ method: "GET", path: "/v1/operations/", kind: "status", status: 404 })),
      ),
  },
  {
    code: "operation_timeout",
    when: "a deletion",
    provoke: () => deleting({ operationMs: (kind) => (kind === "delete" ? DAY_MS : 0) }),
  },
  {
    code: "operation_timeout",
    when: "a deletion with `customTimeouts`",
    provoke: () =>
      deleting(
        { operationMs: (kind) => (kind === "delete" ? DAY_MS : 0) },
        {
          __timeouts: { delete: "10m" },
        },
      ),
  },
  {
    code: "operation_unknown",
    when: "a deletion that waits for an update",
    provoke: deletingDuringUpdate,
  },
  {
    code: "no_result",
    when: "an operation without a result",
    provoke: () =>
      creating(({ emulator }) => {
        emulator.behaviour.resultLink = "missing";
      }),
  },
  {
    code: "not_applied",
    when: "an accepted change without an effect",
    provoke: async () => {
      const service = await startService();
      const saved = await existingInstance(service);
      service.emulator.ignoreUpdatesOf("flavor");
      const news = changed(saved, { flavor: "m1.large" });
      return (await failureOf(service.instances.update(saved.id, saved.state, news))).message;
    },
  },
  {
    code: "key_expired",
    when: "a creation that was killed more than a day ago",
    provoke: async () => {
      const { web } = await oneInstance();
      const entry = await web.killedBeforeReply();
      await web.writeEntry({ ...entry, at: Date.now() - DAY_MS });
      return (await web.up()) ?? "";
    },
  },
  {
    code: "aborted",
    when: "a signal during a creation, such as from a cancelled CI job",
    provoke: async () => {
      const service: Service = await startService({
        onRequest: ({ path }) => {
          if (path.startsWith("/v1/operations/")) service.signals.emit("SIGTERM", "SIGTERM");
        },
      });
      const project = service.emulator.addProject().id;
      return (await failureOf(service.instances.create(instanceNews({ project })))).message;
    },
  },
];
