import { describe, expect, test } from "vitest";
import type { Behaviour } from "../../src/emulator";
import { type Answer, instanceBody, open } from "./service";

/** Creates a project and two instances. Returns their ids and that of the second instance's operation. */
async function idsOf(behaviour: Partial<Behaviour>): Promise<unknown[]> {
  const { call } = await open({ operationMs: 0, ...behaviour });
  const project = (await call("POST", "/v1/projects", { name: "My Shop!", region: "eu-1" })).body.id;
  const body = instanceBody(String(project), { name: "My Shop!" });
  await call("POST", "/v1/instances", body);
  const { body: operation } = await call("POST", "/v1/instances", body);
  const { items } = (await call("GET", "/v1/instances")).body;
  return [project, ...(Array.isArray(items) ? items.map(({ id }) => id) : []), operation.id];
}

const uuid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
const prefixed = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}-[0-9a-f]{12}$`));

describe("ids", () => {
  test.for<[Behaviour["ids"], unknown[]]>([
    ["prefixed", [prefixed("prj"), prefixed("ins"), prefixed("ins"), prefixed("op")]],
    ["counter", ["1", "1", "2", "2"]],
    ["number", [1, 1, 2, 2]],
    ["slug", ["my-shop", "my-shop", "my-shop-2", prefixed("op")]],
    ["uuid", [uuid, uuid, uuid, uuid]],
  ])("are %s", async ([ids, expected]) => {
    expect(await idsOf({ ids })).toEqual(expected);
  });

  test("that are numbers work in paths, filters and bodies, and refer to the project as a number", async () => {
    const { call, emulator, advance } = await open({ ids: "number" });
    const { id } = emulator.addProject();
    const first = await call("POST", "/v1/instances", { ...instanceBody(id), project: 1 });
    expect(first.headers.get("location")).toBe(`${emulator.endpoint}/operations/1`);
    advance(1000);
    expect((await call("GET", "/v1/operations/1")).body.result_url).toBe(`${emulator.endpoint}/instances/1`);
    const { body } = await call("GET", "/v1/instances?project=1");
    expect(body.items).toMatchObject([{ id: 1, project: 1 }]);
  });

  test("of deleted objects are assigned again only if idReuse is true", async () => {
    for (const ids of ["counter", "slug"] as const) {
      for (const idReuse of [false, true]) {
        const { call, emulator } = await open({ ids, idReuse, operationMs: 0 });
        const body = instanceBody(emulator.addProject().id);
        const created = async (): Promise<string> => {
          const { body: operation } = await call("POST", "/v1/instances", body);
          emulator.finishOperations();
          return emulator.operations.get(String(operation.id))?.target.id ?? "";
        };
        const first = await created();
        await call("DELETE", `/v1/instances/${first}`);
        expect((await created()) === first, `${ids} ${idReuse}`).toBe(idReuse);
      }
    }
  });

  test.each([200, 204, 202] as const)(
    "follow names only if idsFollowNames is true: PUT %i",
    async (putReply) => {
      for (const idsFollowNames of [false, true]) {
        const { call, emulator, advance } = await open({ ids: "slug", idsFollowNames, putReply });
        const { id, createdAt, revision } = emulator.addInstance({ name: "web" });
        const body = instanceBody(emulator.instances.get(id)?.fields.project as string, { name: "front" });
        const { body: reply } = await call("PUT", `/v1/instances/${id}`, body, {
          "if-match": `"${revision}"`,
        });
        advance(1000);
        const now = idsFollowNames ? "front" : "web";
        expect([...emulator.instances.values()]).toMatchObject([
          { id: now, createdAt, fields: { name: "front" } },
        ]);
        if (putReply === 200) expect(reply.id).toBe(now);
        const operation = putReply === 202 && (await call("GET", `/v1/operations/${reply.id}`)).body;
        if (operation) expect(operation.result_url).toBe(`${emulator.endpoint}/instances/${now}`);
      }
    },
  );

  test("of objects that are being created or remain visible are not assigned again", async () => {
    const behaviour = { ids: "counter", idReuse: true, softDelete: "deleted", softDeleteMs: 500 } as const;
    const { call, emulator, advance } = await open({ ...behaviour, instanceVisible: "when-done" });
    const body = instanceBody(emulator.addProject().id);
    await call("POST", "/v1/instances", body);
    await call("POST", "/v1/instances", body);
    advance(1000);
    expect([...emulator.instances.keys()]).toEqual(["1", "2"]);
    await call("DELETE", "/v1/instances/1");
    const third = emulator.addInstance().id;
    advance(500);
    expect([third, emulator.addInstance().id]).toEqual(["3", "1"]);
  });

  test("that a project and an instance share require the kind of the object", async () => {
    const { call, emulator, given } = await open({ ids: "counter" });
    given();
    expect(() => emulator.edit("1", {})).toThrow('"1" is the id of a project and of an instance');
    emulator.edit("1", { name: "api" }, "instance");
    emulator.edit("1", { name: "blog" }, "project");
    const nameOf = ({ body }: Answer): unknown => body.name;
    expect(nameOf(await call("GET", "/v1/instances/1"))).toBe("api");
    expect(nameOf(await call("GET", "/v1/projects/1"))).toBe("blog");
    emulator.remove("1", "instance");
    emulator.remove("1");
    expect([emulator.projects.size, emulator.instances.size]).toEqual([0, 0]);
  });

  test("that are reused belong to the new object, even if an operation on the old one is running", async () => {
    const service = await open({ ids: "slug", idReuse: true, deleteObject: 202 });
    const { call, emulator, advance } = service;
    const { id } = emulator.addInstance({ name: "web" });
    await call("DELETE", `/v1/instances/${id}`);
    emulator.remove(id);
    emulator.finishOperations();
    const again = emulator.addInstance({ name: "web" });
    advance(1000);
    expect([again.id, emulator.instances.get(id)]).toEqual([id, again]);
  });
});
