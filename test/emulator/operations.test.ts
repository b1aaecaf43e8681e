import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import { type Answer, instanceBody, open, type TestService } from "./service";

async function creating(
  behaviour: Partial<Behaviour>,
): Promise<TestService & { first: Answer; poll(): Promise<Answer> }> {
  const service = await open(behaviour);
  const { id } = service.emulator.addProject();
  const first = await service.call("POST", "/v1/instances", instanceBody(id));
  return { ...service, first, poll: () => service.call("GET", `/v1/operations/${first.body.id}`) };
}

async function progressAt(behaviour: Partial<Behaviour>, ...times: number[]): Promise<unknown[]> {
  const { poll, advance } = await creating(behaviour);
  const seen: unknown[] = [];
  let last = 0;
  for (const time of times) {
    advance(time - last);
    last = time;
    const { body } = await poll();
    seen.push([body.status, body.progress]);
  }
  return seen;
}

describe("an operation", () => {
  test("starts as pending at 0, then runs, and ends as done with a link", async () => {
    const { first, poll, advance, emulator } = await creating({});
    expect(first.status).toBe(202);
    expect(first.body).toEqual({ id: first.body.id, status: "pending", progress: 0 });
    expect((await poll()).body).toEqual({ id: first.body.id, status: "pending", progress: 0 });
    advance(500);
    expect((await poll()).body).toEqual({
      id: first.body.id,
      status: "running",
      progress: 0.5,
      started_at: "2026-01-02T12:00:00.250Z",
    });
    advance(600);
    const [instance] = emulator.instances.keys();
    expect((await poll()).body).toEqual({
      id: first.body.id,
      status: "done",
      progress: 1,
      result_url: `${emulator.endpoint}/instances/${instance}`,
      started_at: "2026-01-02T12:00:00.250Z",
      finished_at: "2026-01-02T12:00:01.250Z",
    });
  });

  test("that takes 0 ms is done at the first poll", async () => {
    const { first, poll } = await creating({ operationMs: 0 });
    expect(first.body.status).toBe("pending");
    expect((await poll()).body.status).toBe("done");
  });

  test("can take a different time for each kind", async () => {
    const { call, given, advance } = await open({
      deleteObject: 202,
      operationMs: (kind) => (kind === "delete" ? 10 : 9999),
    });
    const accepted = await call("DELETE", `/v1/instances/${given().instance}`);
    advance(10);
    expect((await call("GET", `/v1/operations/${accepted.body.id}`)).body.status).toBe("done");
  });

  test("reports linear, bursts, stuck or absent progress", async () => {
    expect(await progressAt({ progress: "linear" }, 0, 300, 999)).toEqual([
      ["pending", 0],
      ["running", 0.3],
      ["running", 0.99],
    ]);
    expect(await progressAt({ progress: "bursts" }, 100, 300, 499, 800, 1000)).toEqual([
      ["pending", 0],
      ["running", 0.25],
      ["running", 0.25],
      ["running", 0.75],
      ["done", 1],
    ]);
    expect(await progressAt({ progress: "stuck" }, 1, 500, 999, 1000)).toEqual([
      ["running", 0.4],
      ["running", 0.4],
      ["running", 0.4],
      ["done", 1],
    ]);
    expect(await progressAt({ progress: "absent" }, 0, 500, 1000)).toEqual([
      ["pending", undefined],
      ["running", undefined],
      ["done", undefined],
    ]);
  });

  test("has an absolute, relative, early or missing result link", async () => {
    const links = async (resultLink: Behaviour["resultLink"]) => {
      const { first, poll, advance, emulator } = await creating({ resultLink });
      const path = `/v1/instances/${[...emulator.instances.keys()][0]}`;
      const place = (answer: Answer) =>
        String(answer.body.result_url).replace(path, "…").replace(emulator.url, "origin");
      const running = await poll();
      advance(1000);
      return [place(first), place(running), place(await poll())];
    };
    expect(await links("absolute")).toEqual(["undefined", "undefined", "origin…"]);
    expect(await links("relative")).toEqual(["undefined", "undefined", "…"]);
    expect(await links("early")).toEqual(["origin…", "origin…", "origin…"]);
    expect(await links("missing")).toEqual(["undefined", "undefined", "undefined"]);
  });

  test("has an absolute, relative or missing Location", async () => {
    const location = async (behaviour: Partial<Behaviour>) => {
      const { first, emulator } = await creating(behaviour);
      return first.headers.get("location")?.replace(`${first.body.id}`, "ID").replace(emulator.url, "origin");
    };
    expect(await location({ location: "absolute" })).toBe("origin/v1/operations/ID");
    expect(await location({ location: "relative" })).toBe("/v1/operations/ID");
    expect(await location({ location: "missing" })).toBeUndefined();
    expect(await location({ linkOrigin: "http://elsewhere.test" })).toBe(
      "http://elsewhere.test/v1/operations/ID",
    );
  });

  test("sends Retry-After while it is running if retryAfter is set", async () => {
    const { poll, advance } = await creating({ retryAfter: 7 });
    expect((await poll()).headers.get("retry-after")).toBe("7");
    advance(1000);
    expect((await poll()).headers.get("retry-after")).toBeNull();
  });

  test("sends Retry-After in the format of retryAfterForm", async () => {
    const forms = ["seconds", "http-date", "asctime"] as const;
    const headers = [];
    for (const retryAfterForm of forms) {
      const { poll } = await creating({ retryAfter: 7, retryAfterForm });
      headers.push((await poll()).headers.get("retry-after"));
    }
    expect(headers).toEqual(["7", "Fri, 02 Jan 2026 12:00:07 GMT", "Fri Jan  2 12:00:07 2026"]);
  });

  test.for<[Partial<Behaviour>, number[]]>([
    [{}, [200, 200, 200, 200]],
    [{ operationKeptMs: 0 }, [200, 404, 404, 404]],
    [{ operationKeptMs: 1000 }, [200, 200, 404, 404]],
    [{ operationKeptPolls: 0, purgedStatus: 410 }, [200, 410, 410, 410]],
    [{ operationKeptPolls: 2 }, [200, 200, 200, 404]],
  ])("that has finished is purged as %o says", async ([behaviour, expected]) => {
    const { poll, advance, emulator } = await creating(behaviour);
    const seen = [];
    for (let n = 0; n < 4; n++) {
      const { status, body } = await poll();
      if (status !== 200) expect(body.code).toBe("operation_not_found");
      seen.push(status);
      advance(1000);
    }
    expect(seen).toEqual(expected);
    expect([...emulator.instances.values()].map(({ status }) => status)).toEqual(["running"]);
  });

  test("that finishOperations ends is done at once", async () => {
    const { poll, emulator } = await creating({ operationMs: 1e9 });
    emulator.finishOperations();
    expect((await poll()).body.status).toBe("done");
  });

  test("takes effect when it ends, regardless of the order of starts", async () => {
    const { call, given, advance, emulator } = await open({ putReply: 202 });
    const { project, instance } = given();
    const { project: _project, image: _image, ...update } = instanceBody(project);
    const headers = { "if-match": `"${emulator.instances.get(instance)?.revision}"` };
    await call("PUT", `/v1/instances/${instance}`, { ...update, name: "slow" }, headers);
    emulator.behaviour.operationMs = 10;
    await call("PUT", `/v1/instances/${instance}`, { ...update, name: "quick" }, headers);
    advance(1000);
    expect(emulator.instances.get(instance)?.fields.name).toBe("slow");
  });

  test("that was purged or never existed is a 404 problem", async () => {
    const { poll, emulator, first } = await creating({});
    emulator.remove(String(first.body.id));
    const answer = await poll();
    expect(answer.status).toBe(404);
    expect(answer.body.code).toBe("operation_not_found");
  });
});

describe("an operation that fails", () => {
  async function failing(
    behaviour: Partial<Behaviour>,
    failure: Parameters<TestService["emulator"]["failNextOperation"]>[0],
  ) {
    const service = await open(behaviour);
    const { id } = service.emulator.addProject();
    service.emulator.failNextOperation(failure);
    const first = await service.call("POST", "/v1/instances", instanceBody(id));
    return { ...service, poll: () => service.call("GET", `/v1/operations/${first.body.id}`) };
  }

  test("stops at the planned progress, contains its problem, and leaves nothing behind", async () => {
    const { poll, advance, emulator } = await failing(
      {},
      { atProgress: 0.3, problem: { code: "no_capacity" } },
    );
    advance(300);
    expect((await poll()).body).toMatchObject({
      status: "failed",
      progress: 0.3,
      finished_at: "2026-01-02T12:00:00.550Z",
      error: { code: "no_capacity", status: 500, trace_id: expect.stringMatching(/^tr-\d+$/) },
    });
    expect((await poll()).body).not.toHaveProperty("result_url");
    expect(emulator.instances.size).toBe(0);
  });

  test("can leave the object behind and link to it", async () => {
    const { poll, emulator } = await failing({}, { leaveObject: true });
    emulator.finishOperations();
    const [left] = emulator.instances.values();
    expect(left?.status).toBe("error");
    expect((await poll()).body.result_url).toBe(`${emulator.endpoint}/instances/${left?.id}`);
  });

  test("leaves the object behind if failedCreation is object, unless the planned failure overrides it", async () => {
    for (const [failure, left] of [
      [{}, 1],
      [{ leaveObject: false }, 0],
    ] as const) {
      const { emulator, poll } = await failing({ failedCreation: "object" }, failure);
      emulator.finishOperations();
      expect((await poll()).body.status).toBe("failed");
      expect(emulator.instances.size).toBe(left);
    }
  });

  test("is every third one if failEvery is 3", async () => {
    const { call, emulator } = await open({ failEvery: 3 });
    const { id } = emulator.addProject();
    for (let n = 0; n < 7; n++) await call("POST", "/v1/instances", instanceBody(id));
    emulator.finishOperations();
    const failed = [...emulator.operations.values()].map(({ outcome }) => outcome === "failed");
    expect(failed).toEqual([false, false, true, false, false, true, false]);
  });

  test("can have another status, no problem and no finished_at", async () => {
    const { poll, emulator } = await failing(
      { failedStatus: "cancelled", failedHasError: false, finishedAt: false },
      {},
    );
    emulator.finishOperations();
    const { body } = await poll();
    expect(body.status).toBe("cancelled");
    expect(body).not.toHaveProperty("error");
    expect(body).not.toHaveProperty("finished_at");
  });

  test("is only the next one of the planned kind", async () => {
    const { call, given, emulator, advance } = await open({ deleteObject: 202 });
    const { project, instance } = given();
    emulator.failNextOperation({ kind: "delete" });
    const created = await call("POST", "/v1/instances", instanceBody(project));
    const deleted = await call("DELETE", `/v1/instances/${instance}`);
    expect(emulator.instances.get(instance)?.status).toBe("deleting");
    advance(1000);
    expect(emulator.operations.get(String(created.body.id))?.outcome).toBe("done");
    expect(emulator.operations.get(String(deleted.body.id))?.outcome).toBe("failed");
    expect(emulator.instances.get(instance)?.status).toBe("running");
    await call("DELETE", `/v1/instances/${instance}`);
    advance(1000);
    expect(emulator.instances.has(instance)).toBe(false);
  });
});
