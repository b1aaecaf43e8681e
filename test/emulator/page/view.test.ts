import { describe, expect, it } from "vitest";
import { instanceBody, open } from "../service";
import { viewOf } from "./view";

const key = { "idempotency-key": "6f0e5b6c-6f1e-4a43-9a0b-2d6f4f0d9a11" };
const noon = Date.UTC(2026, 0, 2, 12, 0, 0, 250);

async function openPage(behaviour = {}, options = {}) {
  const service = await open(behaviour, { page: true, ...options });
  const { project } = service.given();
  return { ...service, project };
}

/** The objects of the page with a name. */
const named = (name: string, { objects }: Awaited<ReturnType<typeof viewOf>>) =>
  objects.filter((object) => object.name === name);

describe("the timeline of an object", () => {
  it("has the attempts of its creation, the polls, the end and the overshoot", async () => {
    const { call, emulator, advance, project } = await openPage();
    emulator.fail({ kind: "status", method: "POST" });
    emulator.fail({ kind: "lost-reply", method: "POST" });
    const body = instanceBody(project, { name: "db" });
    expect((await call("POST", "/v1/instances", body, key)).status).toBe(503);
    advance(100);
    await expect(call("POST", "/v1/instances", body, key)).rejects.toThrow();
    advance(100);
    const { headers } = await call("POST", "/v1/instances", body, key);
    const poll = String(headers.get("location"));
    advance(400);
    emulator.fail({ kind: "status", path: /operations/, status: 502 });
    await call("GET", poll);
    expect(named("db", await viewOf(emulator))).toMatchObject([
      {
        status: "creating",
        changes: [{ operation: { outcome: "open", progress: 0.5, endsAt: noon + 1100 } }],
      },
    ]);
    advance(600);
    emulator.fail({ kind: "truncate", path: /operations/ });
    await call("GET", poll).catch(() => undefined);
    advance(50);
    await call("GET", poll);
    await call("GET", poll);
    expect(named("db", await viewOf(emulator))).toMatchObject([
      {
        id: expect.stringMatching(/^instance ins-/),
        status: "running",
        changes: [
          {
            kind: "create",
            attempts: [
              { at: noon, status: 503, fault: "status" },
              { at: noon + 100, status: 0, fault: "lost-reply" },
              { at: noon + 200, status: 202 },
            ],
            polls: [
              { at: noon + 600, status: 502 },
              { at: noon + 1200, fault: "truncate" },
              { at: noon + 1250, status: 200 },
              { at: noon + 1250, status: 200 },
            ],
            operation: { outcome: "done", startedAt: noon + 100, endsAt: noon + 1100, seenAt: noon + 1250 },
          },
        ],
      },
    ]);
  });

  it("has each update and deletion, with their retries", async () => {
    const { call, emulator, advance, project } = await openPage({ deleteObject: 202 });
    const { id, revision } = emulator.addInstance({ project, name: "db" });
    const { project: _, ...body } = instanceBody(project, { name: "db2" });
    emulator.fail({ kind: "reset", method: "PUT" });
    const headers = { "if-match": `"${revision}"` };
    await call("PUT", `/v1/instances/${id}`, body, headers).catch(() => undefined);
    await call("PUT", `/v1/instances/${id}`, body, headers);
    await call("PUT", `/v1/instances/${id}`, body, headers);
    const current = { "if-match": `"${emulator.instances.get(id)?.revision}"` };
    await call("PUT", `/v1/instances/${id}`, body, current);
    const deletion = await call("DELETE", `/v1/instances/${id}`);
    advance(1000);
    await call("GET", String(deletion.headers.get("location")));
    const { objects, requests } = await viewOf(emulator);
    expect(objects.find((object) => object.id === `instance ${id}`)).toMatchObject({
      name: "db2",
      status: "deleted",
      changes: [
        { kind: "update", attempts: [{ status: 0, fault: "reset" }, { status: 200 }] },
        { kind: "update", attempts: [{ status: 412 }, { status: 200 }] },
        {
          kind: "delete",
          attempts: [{ status: 202 }],
          polls: [{ status: 200 }],
          operation: { outcome: "done" },
        },
      ],
    });
    expect(requests[5]).toMatchObject({ method: "PUT", revision: `"${revision}"`, fault: "reset" });
  });

  it("has the problem of an operation that failed", async () => {
    const { call, emulator, advance, project } = await openPage();
    emulator.failNextOperation({ problem: { detail: "no capacity" } });
    await call("POST", "/v1/instances", instanceBody(project, { name: "db" }), key);
    advance(600);
    expect(named("db", await viewOf(emulator))).toMatchObject([
      {
        status: "creation failed",
        changes: [{ operation: { outcome: "failed", endsAt: noon + 500, problem: "no capacity" } }],
      },
    ]);
  });

  it("connects the creation of a project with the project that was created at once", async () => {
    const { call, emulator } = await openPage();
    const { body } = await call("POST", "/v1/projects", { name: "blog", region: "eu-1" }, key);
    expect(named("blog", await viewOf(emulator))).toMatchObject([
      {
        id: `project ${body.id}`,
        status: "exists",
        changes: [{ kind: "create", attempts: [{ status: 201 }] }],
      },
    ]);
  });

  it("contains operations even if the log no longer has their requests", async () => {
    const { call, emulator, project } = await openPage({}, { requestsKept: 0 });
    await call("POST", "/v1/instances", instanceBody(project, { name: "db" }), key);
    expect(named("db", await viewOf(emulator))).toMatchObject([
      { changes: [{ kind: "create", attempts: [], polls: [], operation: { outcome: "open" } }] },
    ]);
  });
});

it("shows the newest 50 objects and 100 requests, and counts all", async () => {
  const { call, emulator, advance, project } = await openPage();
  for (let n = 0; n < 60; n++) {
    advance(1);
    emulator.addInstance({ project, name: `n${n}` });
  }
  for (let n = 0; n < 110; n++) await call("GET", `/v1/projects?limit=${n + 1}`);
  const { objects, requests, count } = await viewOf(emulator);
  expect([objects.length, objects[0]?.name, requests.length]).toEqual([50, "n59", 100]);
  expect(requests[0]).toMatchObject({ id: 110, path: "/v1/projects?limit=110" });
  expect(count).toMatchObject({ objects: 62, requests: 110 });
});
