import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { FaultRule } from "../../../src/emulator/faults";
import { nextKey } from "../../../src/model/idempotency-key";
import { oneInstance } from "../one-instance";
import type { ServiceOptions } from "../service";

const FOR_EVER = Number.POSITIVE_INFINITY;

async function start(options: ServiceOptions = {}) {
  const { service, web } = await oneInstance(options);
  const fail = (rule: Omit<FaultRule, "method">) =>
    service.emulator.fail({ method: "POST", times: FOR_EVER, ...rule });
  return { service, web, fail };
}

describe("a request without a reply", () => {
  test("is kept in the state with its key, body and time, and any machine can resend it", async () => {
    const { web, fail } = await start();
    const lost = fail({ kind: "lost-reply" });
    const said = await web.up();
    lost.off();
    const [first] = web.posts();
    const key = first?.headers["idempotency-key"];
    expect(said).toContain("The request may have succeeded");
    expect(web.inState().id).toBe(`operation/key-${key}`);
    expect(web.inState().state.__pending).toEqual({ key, body: first?.body, at: expect.any(Number) });
    expect(await web.up({}, { onAnotherMachine: true })).toBeUndefined();
    expect(web.posts().at(-1)?.body).toBe(first?.body);
    expect(web.keys()).toBe(1);
    await web.removeEntry();
    await web.expectOne();
  });

  test("is resent with the exact body in the state, which another release may have formatted differently, and the state keeps it", async () => {
    const { web, fail } = await start();
    const lost = fail({ kind: "lost-reply" });
    await web.up();
    lost.off();
    await web.removeEntry();
    const { state, ...others } = web.inState();
    const body = ` ${web.posts()[0]?.body}`;
    web.saved = { ...others, state: { ...state, __pending: { ...Object(state.__pending), body } } };
    fail({ kind: "status", status: 403 });
    expect(await web.up()).toContain("(403)");
    expect(web.posts().at(-1)?.body).toBe(body);
    expect(web.inState().state.__pending).toHaveProperty("body", body);
  });

  test.each([400, 401, 403, 404, 409, 410, 422, 429])(
    "is not settled if a later process is rejected with %d: the first attempt may have been carried out",
    async (status) => {
      const { service, web, fail } = await start();
      const lost = fail({ kind: "lost-reply" });
      await web.up();
      lost.off();
      const { id } = web.inState();
      const rejected = fail({ kind: "status", status });
      expect(await web.up()).toContain(`(${status})`);
      expect(web.inState().id).toBe(id);
      expect(service.emulator.instances.size).toBe(1);
      rejected.off();
      expect(await web.up()).toBeUndefined();
      expect(web.keys()).toBe(1);
      await web.expectOne();
    },
  );

  test.each(["problem+json code", "type"])(
    "is not settled by the reply that its key was used for another request (%s)",
    async (how) => {
      const { web, fail } = await start();
      const lost = fail({ kind: "lost-reply" });
      await web.up();
      lost.off();
      const { id } = web.inState();
      const reused =
        how === "type"
          ? { code: undefined, type: "https://e/idempotency-key-reused" }
          : { code: "idempotency_key_reused" };
      const refused = fail({ kind: "status", status: 422, problem: reused });
      expect(await web.up()).toContain("(422)");
      expect(web.inState().id).toBe(id);
      refused.off();
      expect(await web.up()).toBeUndefined();
      expect(web.keys()).toBe(1);
      await web.expectOne();
    },
  );

  test("is not settled by a later rejection of the same request, and the error says how to remove its record", async () => {
    const { web, fail } = await start();
    const reset = fail({ kind: "reset" });
    await web.up({ flavor: "nope" });
    reset.off();
    expect(web.inState().id).toMatch(/^operation\/key-/);
    const said = await web.up();
    expect(said).toContain("(422)");
    expect(said).toContain("run `npx pulumi-cloudinfra recover --forget <urn>`");
    expect(said).not.toContain("pulumi state delete");
    expect(web.keys()).toBe(1);
    await web.giveUp();
    expect(await web.up()).toBeUndefined();
    expect(web.keys()).toBe(2);
    await web.expectOne();
  });

  test.each([400, 401, 403, 404, 409, 422, 429])(
    "is not settled by %d in the same `up` either",
    async (status) => {
      const { service, web, fail } = await start();
      fail({ kind: "lost-reply", times: 1 });
      const refused = fail({ kind: "status", status, problem: { code: "no" } });
      await web.up();
      expect(service.emulator.instances.size).toBe(1);
      expect(web.inState().id).toMatch(/^operation\/key-/);
      refused.off();
      expect(await web.up()).toBeUndefined();
      expect(web.keys()).toBe(1);
      await web.expectOne();
    },
  );
});

test.each([401, 403, 409, 422, 429])(
  "a first request that is rejected with %d leaves no state and no journal entry",
  async (status) => {
    const { web, fail } = await start();
    const refused = fail({ kind: "status", status });
    expect(await web.up()).toContain(`(${status})`);
    expect(web.saved).toBeUndefined();
    expect(await web.entry()).toBeUndefined();
    refused.off();
    expect(await web.up()).toBeUndefined();
    await web.expectOne();
  },
);

test("a conflict that mentions requests in progress is a rejection", async () => {
  const { web, fail } = await start();
  const detail =
    'the name "batch-in-progress" is taken: an outstanding idempotency request is still being processed';
  const rejected = fail({
    kind: "status",
    status: 409,
    problem: { code: "name_taken", title: detail, detail },
  });
  expect(await web.up()).toContain("name_taken (409)");
  expect(web.posts()).toHaveLength(1);
  expect(web.saved).toBeUndefined();
  rejected.off();
  expect(await web.up()).toBeUndefined();
  await web.expectOne();
});

test("a temporary failure doesn't count as stored, and the request is retried with its key", async () => {
  const { service, web, fail } = await start();
  fail({ kind: "status", status: 500, times: 3 });
  expect(await web.up()).toBeUndefined();
  expect(web.posts()).toHaveLength(4);
  expect(web.keys()).toBe(1);
  expect(service.warnings).toEqual([]);
});

test.each([501, 507, 520, 598])(
  "a first request that fails with %d may have been carried out: it is kept, and retried with its key",
  async (status) => {
    const { web, fail } = await start();
    const failing = fail({ kind: "status", status });
    expect(await web.up()).toContain(`(${status})`);
    expect(web.inState().id).toMatch(/^operation\/key-/);
    failing.off();
    expect(await web.up()).toBeUndefined();
    expect(web.keys()).toBe(1);
    await web.expectOne();
  },
);

describe("a failure doesn't count as stored", () => {
  test("if an earlier reply was lost, even if its trace id stays the same: the lost request may have succeeded", async () => {
    const { service, web, fail } = await start();
    fail({ kind: "lost-reply", times: 1 });
    const outage = fail({ kind: "status", status: 503, problem: { trace_id: "tr-outage-1" } });
    expect(await web.up()).toContain("(503)");
    expect(service.emulator.instances.size).toBe(1);
    outage.off();
    expect(await web.up()).toBeUndefined();
    expect(web.keys()).toBe(1);
    await web.expectOne();
  });

  test("if an earlier process may have sent the request", async () => {
    const { service, web, fail } = await start();
    const reset = fail({ kind: "reset" });
    await web.up();
    reset.off();
    const { id } = web.inState();
    fail({ kind: "status", status: 500, times: 1, cached: true });
    expect(await web.up()).toContain("(500)");
    expect(web.inState().id).toBe(id);
    expect(web.keys()).toBe(1);
    expect(service.warnings).toEqual([]);
  });

  test.each(["", "0".repeat(32)])("if its trace id %j identifies nothing", async (traceId) => {
    const { web, fail } = await start();
    const outage = fail({ kind: "status", status: 503, problem: { trace_id: traceId } });
    expect(await web.up()).toContain("(503)");
    outage.off();
    expect(await web.up()).toBeUndefined();
    expect(web.keys()).toBe(1);
    await web.expectOne();
  });
});

describe("a stored failure, which the service repeats for its key", () => {
  test("is resolved in the same `up` with another key", async () => {
    const { web, fail } = await start();
    fail({ kind: "status", status: 500, times: 1, cached: true });
    expect(await web.up()).toBeUndefined();
    expect(web.keys()).toBe(2);
    await web.expectOne();
  });

  test.each([502, 503, 504])("can be given up if nothing shows that it is stored: %d", async (status) => {
    const { web, fail } = await start({ behaviour: { traceIds: "missing" } });
    fail({ kind: "status", status, times: 1, cached: true });
    expect(await web.up()).toContain(`(${status})`);
    const said = await web.up();
    expect(said).toContain(
      "If the service keeps returning this error and has no such object, give up the creation",
    );
    expect(said).toContain("recover --forget <urn>");
  });

  test("is resolved with keys that are derived from the first, so that all machines use the same", async () => {
    const { web, fail } = await start();
    fail({ kind: "status", status: 500, times: 1, cached: true });
    const __key = randomUUID();
    expect(await web.up({ __key })).toBeUndefined();
    const sent = web.posts().map(({ headers }) => headers["idempotency-key"]);
    expect([...new Set(sent)]).toEqual([__key, nextKey(__key)]);
  });

  test("causes a warning about objects with the same name, which are never adopted", async () => {
    const { service, web, fail } = await start();
    const { id } = service.emulator.addInstance({ name: "web", project: web.project });
    service.emulator.addInstance({ name: "other", project: web.project });
    service.emulator.addInstance({ name: "web", project: web.project, status: "terminated" });
    fail({ kind: "status", status: 500, times: 1, cached: true });
    expect(await web.up()).toBeUndefined();
    expect(service.warnings).toEqual([expect.stringContaining(`the service lists ${id} with the same name`)]);
    expect(web.inState().id).not.toBe(id);
    expect(service.emulator.instances.size).toBe(4);
  });

  test("causes a warning even if its object appears only later", async () => {
    const { service, web, fail } = await start();
    fail({ kind: "status", status: 500, times: 1, cached: true });
    const { behaviour } = service.emulator;
    behaviour.operationMs = 5_000;
    const isLast = ({ path }: { path: string }): boolean => path.includes("/operations/");
    const appear = () => {
      if (service.emulator.requests.some(isLast) && service.emulator.instances.size === 1)
        service.emulator.addInstance({ name: "web", project: web.project });
      return false;
    };
    service.emulator.fail({ kind: "status", when: appear, times: Number.POSITIVE_INFINITY });
    expect(await web.up()).toBeUndefined();
    expect(service.emulator.instances.size).toBe(2);
    expect(service.warnings).toEqual([expect.stringContaining("with the same name")]);
    expect(service.warnings.join()).not.toContain(web.inState().id);
  });

  test("is resolved even if the list can't be read", async () => {
    const { service, web, fail } = await start();
    service.emulator.fail({ method: "GET", path: "/v1/instances", kind: "status", status: 403 });
    fail({ kind: "status", status: 500, times: 1, cached: true });
    expect(await web.up()).toBeUndefined();
    expect(service.warnings).toEqual([]);
    await web.expectOne();
  });

  test("is reported if other keys fail, too, and leaves nothing", async () => {
    const { web, fail } = await start();
    fail({ kind: "status", status: 500, cached: true });
    expect(await web.up()).toContain("(500)");
    expect(web.saved).toBeUndefined();
    expect(await web.entry()).toBeUndefined();
    expect(web.keys()).toBe(3);
  });

  test("the state has the object's id, even if its key differs from the one that the engine saved", async () => {
    const { service, web, fail } = await start();
    fail({ kind: "status", status: 500, times: 1, cached: true });
    expect(await web.up({}, { unconfirmed: true })).toBeUndefined();
    const { id } = web.inState();
    expect(await web.entry()).toMatchObject({ id });
    service.emulator.clearRequests();
    expect(await web.up({}, { unconfirmed: true })).toBeUndefined();
    expect(service.emulator.requests).toEqual([]);
    expect(await web.up({ image: "debian-14" })).toBeUndefined();
    expect(await web.expectOne()).not.toBe(id);
  });
});
