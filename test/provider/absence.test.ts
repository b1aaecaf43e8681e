import { describe, expect, test } from "vitest";
import { CloudInfraError } from "../../src/diagnostics/error";
import { instanceKind, projectKind } from "../../src/model/resource-fields";
import { findOrConfirmAbsence } from "../../src/provider/absence";
import type { ObjectRef } from "../../src/provider/lookup/object-getter";
import { callTo } from "./fake-call";
import { FakeService } from "./fake-service";

/** What a read of one object comes to: its id, undefined where it is gone, or the error. */
async function readOf(fake: FakeService, ref: ObjectRef): Promise<unknown> {
  const call = callTo(fake, ref.kind);
  const first = await call.session.finder.findRecent(ref, call);
  return (await findOrConfirmAbsence(call, ref, first))?.id;
}

const instance: ObjectRef = { kind: instanceKind, id: "ins-1", project: "prj-1" };
const project: ObjectRef = { kind: projectKind, id: "prj-1", project: undefined };

function serviceWith(...projects: string[]): FakeService {
  const fake = new FakeService();
  for (const id of projects) fake.addProject(id);
  return fake;
}

describe("an instance", () => {
  test("that exists is found with one lookup", async () => {
    const fake = serviceWith("prj-1");
    fake.addInstance("ins-1", "prj-1");
    expect(await readOf(fake, instance)).toBe("ins-1");
    expect(fake.asked).toHaveLength(1);
  });

  test.each(["offered", "404 to all", "405"] as const)(
    "counts as deleted after two checks while its project is visible (GET: %s)",
    async (getAnswer) => {
      const fake = serviceWith("prj-1");
      fake.getAnswer = getAnswer;
      expect(await readOf(fake, instance)).toBeUndefined();
      const looks = fake.asked.filter((request) => request !== "LIST projects");
      expect(looks).toEqual([
        "GET instances ins-1",
        "LIST instances prj-1",
        // Nothing shows whether this GET works, where the list is empty.
        "LIST instances",
      ]);
      expect(fake.asked).toContain("LIST projects");
    },
  );

  test("exists if only GET, or only the list, doesn't find it", async () => {
    const fake = serviceWith("prj-1");
    fake.addInstance("ins-1", "prj-1");
    fake.getAnswer = "404 to all";
    expect(await readOf(fake, instance)).toBe("ins-1");
    fake.getAnswer = "offered";
    fake.unlisted.add("ins-1");
    expect(await readOf(fake, instance)).toBe("ins-1");
  });

  test.each(["404 to all", "405"] as const)(
    "exists if somebody has moved it to another project (GET: %s)",
    async (getAnswer) => {
      const fake = serviceWith("prj-1", "prj-2");
      fake.getAnswer = getAnswer;
      fake.addInstance("ins-1", "prj-2");
      expect(await readOf(fake, instance)).toBe("ins-1");
    },
  );

  test("doesn't count as deleted if its project is hidden, although another one is visible", async () => {
    await expect(readOf(serviceWith("prj-2"), instance)).rejects.toMatchObject({ code: "forbidden" });
  });

  test("doesn't count as deleted because an earlier list showed its project, since the token may have fewer permissions now", async () => {
    const fake = serviceWith("prj-1");
    const call = callTo(fake, instanceKind);
    const { finder } = call.session;
    await finder.list({ kind: projectKind, project: undefined }, "recent", call);
    const first = await finder.findRecent(instance, call);
    fake.projects.clear();
    await expect(findOrConfirmAbsence(call, instance, first)).rejects.toMatchObject({ code: "forbidden" });
  });

  test("of an unknown project doesn't count as deleted if the account shows no projects", async () => {
    const unknown = { ...instance, project: undefined };
    expect(await readOf(serviceWith("prj-2"), unknown)).toBeUndefined();
    await expect(readOf(serviceWith(), unknown)).rejects.toMatchObject({ code: "forbidden" });
  });

  test("doesn't count as deleted if the account shows no projects", async () => {
    await expect(readOf(serviceWith(), instance)).rejects.toMatchObject({ code: "forbidden" });
  });
});

describe("a project", () => {
  test.each([[[]], [["prj-2"]]])(
    "doesn't count as deleted if the service shows only %j, since the token may have fewer permissions now",
    async (shown) => {
      const error = await readOf(serviceWith(...shown), project).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "forbidden" });
      expect(error).toHaveProperty(
        "hint",
        expect.stringMatching(/token.*cloudinfra:endpoint.*pulumi state delete/),
      );
    },
  );
});

describe("an outage is an error during", () => {
  const unavailable = new CloudInfraError("unavailable", "503", { status: 503 });

  test.each([1, 2, 3])("check %d", async (hit) => {
    const fake = serviceWith("prj-1", "prj-2");
    fake.whenAsked = () => {
      if (fake.asked.length === hit) fake.failure = unavailable;
    };
    await expect(readOf(fake, instance)).rejects.toBe(unavailable);
    expect(fake.asked).toHaveLength(hit);
  });
});
