import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import { InitializationError } from "../../src/provider/host";
import { oneInstance } from "./one-instance";
import { failureOf } from "./service";

const SHORT = { __timeouts: { create: "5s", update: "5s" } };

describe("the refresh of an interrupted creation", () => {
  async function placeholder(behaviour: Partial<Behaviour> = {}) {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000, ...behaviour } });
    return { service, web };
  }

  /** A refresh after the creation has failed, and has left its object behind. */
  async function refreshedAfterFailure(behaviour: Partial<Behaviour> = {}) {
    const { service, web } = await placeholder(behaviour);
    service.emulator.failNextOperation({ kind: "create", leaveObject: true });
    await web.up(SHORT);
    service.emulator.finishOperations();
    const [broken] = service.emulator.instances.keys();
    await web.refresh();
    return { service, web, broken };
  }

  test("keeps it while its operation is running, and the next `up` resumes it", async () => {
    const { service, web } = await placeholder();
    await web.up(SHORT);
    const before = web.inState();
    await web.refresh();
    expect(web.inState()).toMatchObject({ id: before.id, state: before.state });
    service.emulator.finishOperations();
    expect(await web.up(SHORT, { onAnotherMachine: true })).toBeUndefined();
    expect(web.posts()).toHaveLength(1);
    await web.removeEntry();
    await web.expectOne();
  });

  test("gives it the object's id once it is done, and the next `up` changes nothing", async () => {
    const { service, web } = await placeholder();
    await web.up(SHORT);
    service.emulator.finishOperations();
    await web.refresh();
    const [id] = service.emulator.instances.keys();
    expect(web.inState()).toMatchObject({ id, state: { status: "running" } });
    service.emulator.clearRequests();
    expect(await web.up(SHORT)).toBeUndefined();
    expect(service.emulator.requests).toEqual([]);
    await web.expectOne();
  });

  test("removes it from the state if its operation failed, and the next `up` creates it", async () => {
    const { service, web } = await placeholder();
    service.emulator.failNextOperation({ kind: "create" });
    await web.up(SHORT);
    service.emulator.finishOperations();
    await web.refresh();
    expect(web.saved).toBeUndefined();
    service.emulator.behaviour.operationMs = 2_000;
    expect(await web.up(SHORT)).toBeUndefined();
    await web.expectOne();
  });

  test("gives it the id of the object that its failed operation left behind, and the next `up` replaces that", async () => {
    const { service, web, broken } = await refreshedAfterFailure();
    expect(web.inState()).toMatchObject({ id: broken, state: { __pending: { failed: true } } });
    service.emulator.behaviour.operationMs = 2_000;
    expect(await web.up(SHORT)).toBeUndefined();
    expect(await web.expectOne()).not.toBe(broken);
  });

  test.each([
    ["its id is known", "early"],
    ["its id is not known", "absolute"],
  ] as const)(
    "keeps the object of its failed operation if %s and reads lag behind",
    async (_, resultLink) => {
      const lag = { instanceVisible: "when-done", lagMs: 2_000, lagIn: "both" } as const;
      const { web, broken } = await refreshedAfterFailure({ resultLink, ...lag });
      expect(web.inState()).toMatchObject({ id: broken, state: { __pending: { failed: true } } });
    },
  );

  test("keeps it if the service no longer reports its operation", async () => {
    const { service, web } = await placeholder();
    await web.up(SHORT);
    service.emulator.remove([...service.emulator.operations.keys()][0] ?? "");
    const { id } = web.inState();
    await web.refresh();
    expect(web.inState().id).toBe(id);
  });

  test("keeps it if another instance has the id of its object since", async () => {
    const { service, web } = await placeholder({ ids: "slug", idReuse: true });
    const { emulator, clock } = service;
    await web.up({ name: "web", ...SHORT });
    emulator.finishOperations();
    emulator.remove([...emulator.instances.keys()][0] ?? "");
    await clock.sleep(3 * 3_600_000);
    const theirs = emulator.addInstance({ project: web.project, name: "web" });
    const { id } = web.inState();
    await web.refresh();
    expect(web.inState().id).toBe(id);
    expect(service.warnings).toEqual([
      expect.stringContaining(
        `created instance ${theirs.id}, which no longer exists: another instance "web"`,
      ),
    ]);
  });

  test("keeps it if its reply was lost", async () => {
    const { service, web } = await placeholder();
    const lost = service.emulator.fail({ method: "POST", kind: "lost-reply", times: 99 });
    await web.up(SHORT);
    lost.off();
    const { id, state } = web.inState();
    await web.refresh();
    expect(web.inState()).toMatchObject({ id, state });
  });
});

test("the first read of a creation that has its object's id shows no drift for normalized values", async () => {
  const spelling = (object: object): object => ({ ...object, image: "img-7" });
  const { service, web } = await oneInstance({
    behaviour: { operationMs: 3_600_000, resultLink: "early", spelling },
  });
  await web.up({ __timeouts: { create: "5s" } });
  const [id] = service.emulator.instances.keys();
  expect(web.inState()).toMatchObject({ id, state: { __pending: { operation: expect.anything() } } });
  await web.refresh();
  expect(web.inState().state).toHaveProperty("__pending"); // the operation is still at work
  service.emulator.finishOperations();
  await web.refresh();
  expect(web.inState()).toMatchObject({
    id,
    inputs: { image: "debian-13" },
    state: { __words: { image: "img-7" } },
  });
  expect(await web.up()).toBeUndefined();
  expect(await web.expectOne()).toBe(id);
});

describe("an interrupted creation that times out after its arguments have changed", () => {
  async function changedMeanwhile(resultLink: "early" | "absolute") {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000, resultLink } });
    await web.killedUp({ flavor: "v1" });
    await web.up({ ...SHORT, flavor: "v2" });
    const { emulator } = service;
    expect(emulator.operations.size).toBe(1);
    const finish = (): void => {
      emulator.finishOperations();
      emulator.behaviour.operationMs = 0;
    };
    return { web, finish, fieldsNow: () => emulator.instances.get(web.inState().id)?.fields };
  }

  test.each(["early", "absolute"] as const)(
    "gets the change after a refresh: result link %s",
    async (resultLink) => {
      const { web, finish, fieldsNow } = await changedMeanwhile(resultLink);
      finish();
      await web.refresh();
      expect(web.inState()).toMatchObject({ inputs: { flavor: "v1" }, state: { flavor: "v1" } });
      expect(await web.up({ flavor: "v2" })).toBeUndefined();
      expect(fieldsNow()).toMatchObject({ flavor: "v2" });
      expect(web.inState().state).toMatchObject({ flavor: "v2" });
    },
  );

  test.each(["early", "absolute"] as const)(
    "gets the change without a refresh, too: result link %s",
    async (resultLink) => {
      const { web, finish, fieldsNow } = await changedMeanwhile(resultLink);
      const { id, inputs, state } = web.inState();
      expect({ is: inputs.flavor, was: state.flavor }).toEqual({ is: "v2", was: "v1" });
      const process = await web.process();
      const same = (await process.check(inputs, web.news({ flavor: "v2" }))).inputs;
      // The inputs are equal, so the engine would not see the change by itself.
      expect(await process.diff(id, state, same)).toMatchObject({ changes: true, replaces: ["__pending"] });
      finish();
      expect(await web.up({ flavor: "v2" })).toBeUndefined();
      expect(fieldsNow()).toMatchObject({ flavor: "v2" });
    },
  );

  test("keeps its former secret arguments secret, even if the program's are in plaintext now", async () => {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    await web.killedUp({ labels: { env: "hush-hush" }, __secrets: ["labels"] });
    const process = await web.process();
    const news = web.news({ ...SHORT, labels: { env: "open" } });
    const error = await failureOf(process.create((await process.check({}, news)).inputs));
    const secret = expect.objectContaining({ value: { env: "hush-hush" } });
    expect(error).toMatchObject({ properties: { labels: secret } });
    service.emulator.finishOperations();
    const { id, properties } = error instanceof InitializationError ? error : expect.fail();
    const read = await process.read(id, properties);
    expect(read).toMatchObject({ props: { labels: secret }, inputs: { labels: secret } });
  });
});

describe("arguments that the service ignores when it creates an instance", () => {
  const ARGS = { ...SHORT, labels: { env: "dev" } };

  test.each<["early" | "absolute", boolean]>([
    ["absolute", true],
    ["early", true],
    ["early", false],
  ])(
    "are set by the next `up` if the creation has timed out: result link %s, after a refresh: %s",
    async (resultLink, isRefreshed) => {
      const { service, web } = await oneInstance({
        behaviour: { operationMs: 3_600_000, resultLink, postIgnores: ["labels"] },
      });
      const { emulator } = service;
      await web.up(ARGS);
      emulator.finishOperations();
      emulator.behaviour.operationMs = 0;
      if (isRefreshed) await web.refresh();
      const { id, state, inputs } = web.inState();
      if (isRefreshed) expect({ ...state, ...inputs }).not.toHaveProperty("labels");
      expect(await web.up(ARGS)).toBeUndefined();
      expect(web.inState()).toMatchObject({ id, state: { labels: ARGS.labels } });
      expect(emulator.instances.get(id)?.fields.labels).toEqual(ARGS.labels);
    },
  );
});

test("a refresh that removes a failed creation also removes its journal entry", async () => {
  const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
  service.emulator.failNextOperation({ kind: "create" });
  await web.up({ __timeouts: { create: "5s" } });
  service.emulator.finishOperations();
  await web.refresh();
  expect(web.saved).toBeUndefined();
  expect(await web.entry()).toBeUndefined();
});
