import { expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import { type Answer, open, type TestService } from "./service";

const key = "ssh-ed25519 AAAA me";
const image = "debian-13";
const body = { name: "web", flavor: "m1.large", network: "default", labels: { a: "1" }, ssh_keys: [key] };

interface Updating extends TestService {
  readonly id: string;
  readonly project: string;
  put(body: unknown, ifMatch?: string): Promise<Answer>;
  fields(): Record<string, unknown>;
  revision(): string;
}

async function updating(behaviour: Partial<Behaviour> = {}): Promise<Updating> {
  const service = await open(behaviour);
  const { project, instance: id } = service.given({ ...body, flavor: "m1.small", public_ip: "auto" });
  const stored = () => {
    const instance = service.emulator.instances.get(id);
    if (instance === undefined) throw new Error(`${id} is gone`);
    return instance;
  };
  const revision = () => stored().revision;
  return {
    ...service,
    id,
    project,
    put: (sent, ifMatch = `"${revision()}"`) =>
      service.call("PUT", `/v1/instances/${id}`, sent, ifMatch === "" ? {} : { "if-match": ifMatch }),
    fields: () => stored().fields,
    revision,
  };
}

test("an update replaces all fields that can change, and removes those that are left out", async () => {
  const { put, fields, revision } = await updating();
  const before = revision();
  const answer = await put({ name: "api", flavor: "m1.large", network: "dmz" });
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({ name: "api", flavor: "m1.large", network: "dmz" });
  expect([answer.body.ssh_keys, answer.body.labels]).toEqual([[], {}]);
  expect(answer.body).not.toHaveProperty("public_ip");
  expect(answer.body).not.toHaveProperty("ip_address");
  expect(fields()).toMatchObject({ name: "api", image });
  expect(answer.headers.get("etag")).toBe(`"${revision()}"`);
  expect(revision()).not.toBe(before);
});

test("an update returns the instance, nothing, or an operation that applies the change when it ends", async () => {
  for (const putReply of [200, 204, 202] as const) {
    const { put, fields, advance, call, revision } = await updating({ putReply });
    const answer = await put(body);
    expect(answer.status).toBe(putReply);
    if (putReply === 204) expect([answer.text, answer.headers.get("etag")]).toEqual(["", `"${revision()}"`]);
    if (putReply === 202) {
      expect(fields().flavor).toBe("m1.small");
      advance(1000);
      expect((await call("GET", `/v1/operations/${answer.body.id}`)).body.status).toBe("done");
    }
    expect(fields().flavor).toBe("m1.large");
  }
});

test("an update whose operation fails changes nothing", async () => {
  const { put, fields, emulator } = await updating({ putReply: 202 });
  emulator.failNextOperation({ kind: "update" });
  await put(body);
  emulator.finishOperations();
  expect(fields().flavor).toBe("m1.small");
});

test("If-Match is required and must be the current revision as a quoted tag", async () => {
  const { put, revision, fields } = await updating();
  const status = async (ifMatch: string) => (await put(body, ifMatch)).status;
  expect(await status("")).toBe(428);
  expect(await status(revision())).toBe(400);
  expect(await status("*")).toBe(400);
  expect(await status('"r0"')).toBe(412);
  expect(await status(`W/"${revision()}"`)).toBe(412);
  expect(fields().flavor).toBe("m1.small");
  expect(await status(`"r0", "${revision()}"`)).toBe(200);
});

test("a weak tag matches with and without its W/", async () => {
  const { put, revision } = await updating({ revision: "weak" });
  expect((await put(body, `W/"${revision()}"`)).headers.get("etag")).toBe(`W/"${revision()}"`);
  expect((await put({ ...body, name: "api" }, `"${revision()}"`)).status).toBe(200);
  expect((await put(body, '"r0"')).status).toBe(412);
});

test("another user's change or a new revision makes the tag stale", async () => {
  const { put, revision, emulator, id } = await updating();
  const first = revision();
  emulator.edit(id, { labels: { theirs: "1" }, status: "stopped" });
  expect((await put(body, `"${first}"`)).body.code).toBe("revision_mismatch");
  const second = revision();
  emulator.touch(id);
  expect((await put(body, `"${second}"`)).status).toBe(412);
  expect(emulator.instances.get(id)).toMatchObject({
    status: "stopped",
    fields: { labels: { theirs: "1" } },
  });
});

test("an update that changes nothing keeps the revision", async () => {
  const { put, revision } = await updating();
  const before = revision();
  expect((await put({ ...body, flavor: "m1.small", public_ip: "auto" })).status).toBe(200);
  expect(revision()).toBe(before);
});

test("the address is kept if public_ip is unchanged or is the address itself", async () => {
  const { put } = await updating();
  expect((await put({ ...body, public_ip: "auto" })).body.ip_address).toBe("203.0.113.1");
  expect((await put({ ...body, public_ip: "203.0.113.1" })).body).toMatchObject({
    public_ip: "auto",
    ip_address: "203.0.113.1",
  });
});

test("an update may repeat project and image, but not change them", async () => {
  const { put, project } = await updating();
  expect((await put({ ...body, project, image })).status).toBe(200);
  const refused = await put({ ...body, project: "prj-other", image: "debian-14" });
  expect(refused.status).toBe(422);
  expect(refused.body.errors).toMatchObject([{ pointer: "/project" }, { pointer: "/image" }]);
});

test("fields that the service sets are rejected", async () => {
  const { put, fields } = await updating();
  for (const field of ["id", "status", "created_at", "updated_at", "url", "ip_address", "revision"]) {
    const answer = await put({ ...body, [field]: "x" });
    expect([answer.status, answer.body.code]).toEqual([422, "read_only_field"]);
    expect(answer.body.errors).toMatchObject([{ pointer: `/${field}` }]);
  }
  expect(fields().flavor).toBe("m1.small");
});

test("updates of a field can be rejected or ignored", async () => {
  const { put, fields, emulator } = await updating();
  emulator.refuseUpdatesOf("flavor", { code: "resize_not_possible" });
  const refused = await put(body);
  expect([refused.status, refused.body.code]).toEqual([422, "resize_not_possible"]);
  expect(refused.body.errors).toMatchObject([
    { pointer: "/flavor", detail: "flavor cannot be changed in place" },
  ]);
  emulator.ignoreUpdatesOf("name");
  expect((await put({ ...body, flavor: "m1.small", name: "api", network: "dmz" })).status).toBe(200);
  expect(fields()).toMatchObject({ name: "web", network: "dmz" });
});

test("updating a missing instance is a 404, and one that is being deleted a 409", async () => {
  const { call, put, id } = await updating({ deleteObject: 202 });
  expect((await call("PUT", "/v1/instances/ins-none", body, { "if-match": '"r1"' })).status).toBe(404);
  await call("DELETE", `/v1/instances/${id}`);
  expect((await put(body)).body.code).toBe("being_deleted");
});

test("fields of unshown can be set, but no reply contains them", async () => {
  const { call, emulator, id, put } = await updating({ unshown: ["ssh_keys", "labels"] });
  expect((await put({ ...body, labels: { a: "2" } })).body).not.toHaveProperty("labels");
  expect(emulator.instances.get(id)?.fields).toMatchObject({ labels: { a: "2" }, ssh_keys: [key] });
  for (const path of [`/v1/instances/${id}`, "/v1/instances"]) {
    const { text } = await call("GET", path);
    expect(text).toContain(`"id":"${id}"`);
    expect(text).not.toMatch(/ssh_keys|labels/);
  }
});

test("with revisionOf shown, the revision depends only on the visible values", async () => {
  const { put, revision } = await updating({ revisionOf: "shown", unshown: ["ssh_keys"] });
  const revisions = [];
  for (const more of [{}, { ssh_keys: [] }, { flavor: "m1.huge" }, {}]) {
    await put({ ...body, ...more });
    revisions.push(revision());
  }
  const [first, ...others] = revisions;
  expect(others.map((one) => one === first)).toEqual([true, false, true]);
});
