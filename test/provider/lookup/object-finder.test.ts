import { describe, expect, test } from "vitest";
import { CloudInfraError } from "../../../src/diagnostics/error";
import { instanceKind, projectKind } from "../../../src/model/resource-fields";
import { deadlineIn } from "../../../src/polling/clock";
import { ObjectFinder } from "../../../src/provider/lookup/object-finder";
import type { LookupResult, ObjectRef } from "../../../src/provider/lookup/object-getter";
import { Random } from "../../campaigns/random";
import { FakeClock } from "../../polling/fake-clock";
import { FakeService } from "../fake-service";

function service(instances: number) {
  const fake = new FakeService();
  const clock = new FakeClock({ auto: true });
  fake.addProject("prj-1");
  for (let i = 1; i <= instances; i++) fake.addInstance(`ins-${i}`, "prj-1");
  const finder = new ObjectFinder(fake.client(), clock, 60_000);
  const options = { deadline: deadlineIn(60_000, clock) };
  return { fake, clock, finder, options };
}

const instance = (id: string, project = "prj-1"): ObjectRef => ({ kind: instanceKind, id, project });
const project = (id: string): ObjectRef => ({ kind: projectKind, id, project: undefined });
const idOf = (look: LookupResult): string | undefined => ("found" in look ? look.found.id : undefined);

describe("reads of a refresh", () => {
  test("cost one list of their project if there are many at once", async () => {
    const { fake, finder, options } = service(50);
    const ids = [...fake.instances.keys()];
    const looks = await Promise.all(ids.map((id) => finder.findRecent(instance(id), options)));
    expect(looks.map(idOf)).toEqual(ids);
    expect(fake.asked).toEqual(["LIST instances prj-1"]);
  });

  test("cost no requests within 30 s of that list", async () => {
    const { fake, clock, finder, options } = service(2);
    await Promise.all(["ins-1", "ins-2"].map((id) => finder.findRecent(instance(id), options)));
    await clock.advance(29_000);
    expect(idOf(await finder.findRecent(instance("ins-1"), options))).toBe("ins-1");
    expect(fake.asked).toEqual(["LIST instances prj-1"]);
  });

  test("cost one GET if there is only one", async () => {
    const { fake, finder, options } = service(50);
    expect(idOf(await finder.findRecent(instance("ins-7"), options))).toBe("ins-7");
    expect(fake.asked).toEqual(["GET instances ins-7"]);
  });

  test("of most of a long list cost its pages, however few come at a time", async () => {
    const { fake, finder, options } = service(2_000);
    await inTurn([...fake.instances.keys()], 8, async (id) =>
      expect(idOf(await finder.findRecent(instance(id), options))).toBe(id),
    );
    expect([fake.countOf("LIST"), fake.countOf("GET")]).toEqual([10, 0]);
  });

  test("in another order than the list's cost its pages, and perhaps a few GETs", async () => {
    const { fake, finder, options } = service(2_000);
    const mixed = new Random(1).shuffled([...fake.instances.keys()]);
    await inTurn(mixed, 8, async (id) =>
      expect(idOf(await finder.findRecent(instance(id), options))).toBe(id),
    );
    expect(fake.countOf("LIST")).toBe(10);
    expect(fake.countOf("GET")).toBeLessThan(20);
  });

  test("of a few of a long list cost as many GETs, and half as many pages", async () => {
    const { fake, finder, options } = service(10_000);
    const ids = ["ins-2000", "ins-4000", "ins-6000", "ins-8000", "ins-10000"];
    const looks = await Promise.all(ids.map((id) => finder.findRecent(instance(id), options)));
    expect(looks.map(idOf)).toEqual(ids);
    expect([fake.countOf("LIST"), fake.countOf("GET")]).toEqual([2, 5]);
  });

  test("of a few of a long list cost a whole list if the service doesn't offer GET", async () => {
    const { fake, finder, options } = service(1_000);
    fake.getAnswer = "405";
    const ids = ["ins-600", "ins-1000"];
    const looks = await Promise.all(ids.map((id) => finder.findRecent(instance(id), options)));
    expect(looks.map(idOf)).toEqual(ids);
    expect(fake.countOf("LIST")).toBe(5);
    expect(fake.countOf("GET")).toBeLessThanOrEqual(2);
  });

  test("cost a single GET and then the list if they come one at a time", async () => {
    const { fake, finder, options } = service(100);
    for (const id of fake.instances.keys()) await finder.findRecent(instance(id), options);
    expect(fake.asked).toEqual(["GET instances ins-1", "LIST instances prj-1"]);
  });

  test("of two projects, or of projects and instances, cost one list for each", async () => {
    const { fake, finder, options } = service(2);
    fake.addProject("prj-2");
    fake.addInstance("ins-8", "prj-2");
    fake.addInstance("ins-9", "prj-2");
    const ref = [
      ...["ins-1", "ins-2"].map((id) => instance(id)),
      ...["ins-8", "ins-9"].map((id) => instance(id, "prj-2")),
      ...["prj-1", "prj-2"].map((id) => project(id)),
    ];
    const looks = await Promise.all(ref.map((one) => finder.findRecent(one, options)));
    expect(looks.map(idOf)).toEqual(ref.map(({ id }) => id));
    expect([...fake.asked].sort()).toEqual(["LIST instances prj-1", "LIST instances prj-2", "LIST projects"]);
  });

  test("see the writes of this process", async () => {
    const { fake, finder, options } = service(2);
    const both = () =>
      Promise.all(["ins-1", "ins-3"].map((id) => finder.findRecent(instance(id), options).then(idOf)));
    expect(await both()).toEqual(["ins-1", undefined]);
    fake.addInstance("ins-3", "prj-1");
    expect(await both()).toEqual(["ins-1", undefined]);
    finder.invalidate();
    expect(await both()).toEqual(["ins-1", "ins-3"]);
  });
});

test("a list is not cached if this process writes while it runs", async () => {
  const { fake, finder, options } = service(2);
  fake.whenAsked = () => {
    fake.whenAsked = () => {};
    fake.addInstance("ins-3", "prj-1"); // too late for this list
    finder.invalidate();
  };
  const look = () => finder.findInList(instance("ins-3"), options).then(idOf);
  expect(await look()).toBeUndefined();
  const both = ["ins-1", "ins-3"].map((id) => finder.findRecent(instance(id), options).then(idOf));
  expect(await Promise.all(both)).toEqual(["ins-1", "ins-3"]);
});

describe("if the service doesn't offer GET for single objects,", () => {
  test("the finder uses lists after one 405", async () => {
    const { fake, finder, options } = service(2);
    fake.getAnswer = "405";
    expect(idOf(await finder.find(instance("ins-1"), options))).toBe("ins-1");
    expect(idOf(await finder.find(instance("ins-2"), options))).toBe("ins-2");
    expect(fake.countOf("GET")).toBe(1);
  });

  /** A look that gets 404, and the second look, which finds the object in the list. */
  async function contradicted({ finder, options }: ReturnType<typeof service>, id: string) {
    const first = await finder.find(instance(id), options);
    expect(first).toEqual({ missing: "get" });
    expect(idOf(await finder.findAgain(instance(id), first, options))).toBe(id);
  }

  test("the finder doesn't repeat GET for an object that the list shows although GET returns 404", async () => {
    const scene = service(2);
    scene.fake.getAnswer = "404 to all";
    await contradicted(scene, "ins-1");
    expect(idOf(await scene.finder.find(instance("ins-1"), scene.options))).toBe("ins-1");
    expect(scene.fake.countOf("GET")).toBe(1);
  });

  test("the finder stops using GET after two objects that the list shows although GET returns 404", async () => {
    const scene = service(3);
    scene.fake.getAnswer = "404 to all";
    for (const id of ["ins-1", "ins-2"]) await contradicted(scene, id);
    expect(idOf(await scene.finder.find(instance("ins-3"), scene.options))).toBe("ins-3");
    expect(scene.fake.countOf("GET")).toBe(2);
  });

  test("the finder keeps using GET for other objects if a list still shows a deleted one", async () => {
    const scene = service(2);
    const { fake, finder, options } = scene;
    fake.unread.add("ins-1");
    await contradicted(scene, "ins-1");
    await finder.find(instance("ins-2"), options);
    expect(fake.asked.at(-1)).toBe("GET instances ins-2");
  });

  test.each(["405", "404 to all"] as const)(
    "the finder ignores one %s if GET has worked before, in this process or for the state",
    async (answer) => {
      for (const inProcess of [true, false]) {
        const { fake, finder, options } = service(2);
        if (inProcess) await finder.find(instance("ins-2"), options);
        fake.getAnswer = answer;
        fake.whenAsked = () => {
          fake.whenAsked = () => {
            fake.getAnswer = "offered";
          };
        };
        const ref = { ...instance("ins-1"), wasReadByGet: !inProcess };
        const first = await finder.find(ref, options);
        const look = "found" in first ? first : await finder.findAgain(ref, first, options);
        expect(look).toMatchObject({ found: { id: "ins-1" }, by: "get" });
      }
    },
  );

  test("the finder decides separately for instances and projects", async () => {
    const { fake, finder, options } = service(1);
    fake.getAnswer = "405";
    await finder.find(instance("ins-1"), options);
    fake.getAnswer = "offered";
    await finder.find(project("prj-1"), options);
    expect(fake.asked.at(-1)).toBe("GET projects prj-1");
  });
});

describe("a GET that returns 403", () => {
  test("is ignored if GET has never worked and the list contains the object, because the service may not define GET", async () => {
    const { fake, finder, options } = service(3);
    fake.getAnswer = "403";
    for (const id of ["ins-1", "ins-2", "ins-3"]) {
      const { found } = Object(await finder.find(instance(id), options));
      expect(await finder.gets.complete(found, instance(id), options)).toBe(found);
    }
    expect(fake.countOf("GET")).toBe(3);
  });

  test("is an error if the list doesn't contain the object, and never counts as its absence", async () => {
    const { fake, finder, options } = service(2);
    fake.getAnswer = "403";
    fake.unlisted.add("ins-1");
    for (const id of ["ins-2", "ins-1"]) await finder.find(instance(id), options).catch(() => {});
    await expect(finder.find(instance("ins-1"), options)).rejects.toMatchObject({ code: "forbidden" });
    const first = await finder.findInList(instance("ins-1"), options);
    await expect(finder.findAgain(instance("ins-1"), first, options)).rejects.toMatchObject({
      code: "forbidden",
    });
  });

  test("never counts as an absence after the GETs of two other objects were rejected", async () => {
    const { fake, finder, options } = service(3);
    fake.getAnswer = "403";
    fake.unlisted.add("ins-1");
    for (const id of ["ins-2", "ins-3"]) await finder.find(instance(id), options);
    const first = await finder.find(instance("ins-1"), options);
    await expect(finder.findAgain(instance("ins-1"), first, options)).rejects.toMatchObject({
      code: "forbidden",
    });
  });

  test.each([true, false])(
    "is an error without a list if GET has worked before (in this process: %s)",
    async (inProcess) => {
      const { fake, finder, options } = service(2);
      if (inProcess) await finder.find(instance("ins-2"), options);
      fake.getAnswer = "403";
      const ref = { ...instance("ins-1"), wasReadByGet: !inProcess };
      await expect(finder.find(ref, options)).rejects.toMatchObject({ code: "forbidden" });
      expect(fake.countOf("LIST")).toBe(0);
    },
  );
});

describe("lookups of deleted objects", () => {
  /** A deletion, as this process does it. */
  async function deleted(
    { fake, finder, options }: ReturnType<typeof service>,
    id: string,
  ): Promise<LookupResult> {
    fake.instances.delete(id);
    finder.invalidate();
    return finder.findAfterDeletion(instance(id), options);
  }

  test("share a list if it has one page", async () => {
    const scene = service(100);
    const ids = [...scene.fake.instances.keys()].slice(0, 50);
    const looks = await Promise.all(ids.map((id) => deleted(scene, id)));
    expect(looks).toEqual(ids.map(() => ({ missing: "list" })));
    expect(scene.fake.asked).toEqual(["LIST instances prj-1"]);
  });

  test("share a list if the deletions follow one another closely, and wait at most 0.3 s for others", async () => {
    const scene = service(100);
    const ids = [...scene.fake.instances.keys()].slice(0, 20);
    const looks: Promise<LookupResult>[] = [];
    for (const id of ids) {
      looks.push(deleted(scene, id));
      await scene.clock.sleep(40);
    }
    expect(await Promise.all(looks)).toEqual(ids.map(() => ({ missing: "list" })));
    // Deletions of 0.8 s.
    expect(scene.fake.countOf("LIST")).toBe(3);
  });

  test("of a single deletion start after 0.05 s", async () => {
    const scene = service(100);
    const begin = scene.clock.now();
    await deleted(scene, "ins-7");
    expect(scene.clock.now() - begin).toBe(50);
  });

  test("never use a list that started before the deletion", async () => {
    const scene = service(100);
    const first = deleted(scene, "ins-1");
    const begun = new Promise<void>((resolve) => {
      scene.fake.whenAsked = () => resolve();
    });
    await begun;
    const later = deleted(scene, "ins-2");
    expect(await Promise.all([first, later])).toEqual([{ missing: "list" }, { missing: "list" }]);
    expect(scene.fake.countOf("LIST")).toBe(2);
  });

  test("use GET if the list has more pages, once the GET of another object has worked", async () => {
    const scene = service(10_000);
    expect(await deleted(scene, "ins-5000")).toEqual({ missing: "get" });
    expect(scene.fake.asked).toEqual([
      "LIST instances prj-1",
      "GET instances ins-200",
      "GET instances ins-5000",
    ]);
    scene.fake.asked.length = 0;
    const ids = ["ins-1", "ins-2", "ins-3"];
    await Promise.all(ids.map((id) => deleted(scene, id)));
    expect(scene.fake.asked).toEqual(ids.map((id) => `GET instances ${id}`));
  });

  test.each(["405", "404 to all"] as const)("use lists if GET returns %s", async (answer) => {
    const scene = service(500);
    scene.fake.getAnswer = answer;
    for (const id of ["ins-1", "ins-2"]) expect(await deleted(scene, id)).toEqual({ missing: "list" });
    expect(scene.fake.countOf("GET")).toBeLessThanOrEqual(4);
  });

  test("test GET only a few times if it always returns 404", async () => {
    const scene = service(500);
    scene.fake.getAnswer = "404 to all";
    for (let i = 1; i <= 20; i++) expect(await deleted(scene, `ins-${i}`)).toEqual({ missing: "list" });
    expect(scene.fake.countOf("GET")).toBeLessThanOrEqual(6);
  });

  test("use GET also after a refresh that read the whole list", async () => {
    const scene = service(2_000);
    const { fake, finder, options } = scene;
    await inTurn(
      [...fake.instances.keys()],
      8,
      async (id) => void (await finder.findRecent(instance(id), options)),
    );
    expect(await deleted(scene, "ins-1500")).toEqual({ missing: "get" });
  });

  test("use lists for an object that GET still returns after it has left the list", async () => {
    const { fake, finder, options } = service(500);
    fake.unlisted.add("ins-400");
    expect(await finder.findAfterDeletion(instance("ins-400"), options)).toEqual({ missing: "list" });
  });

  test("don't fail if another object can't be read", async () => {
    const scene = service(500);
    scene.fake.whenAsked = (request) => {
      const forbidden = new CloudInfraError("forbidden", "403", { status: 403 });
      scene.fake.failure = request === "GET instances ins-200" ? forbidden : undefined;
    };
    expect(await deleted(scene, "ins-400")).toEqual({ missing: "get" });
  });

  test("find objects that still exist, on the first page and on later ones", async () => {
    const { finder, options } = service(500);
    for (const id of ["ins-1", "ins-400"])
      expect(idOf(await finder.findAfterDeletion(instance(id), options))).toBe(id);
  });
});

describe("the second check of a missing object", () => {
  test("is a whole list after a GET", async () => {
    const { fake, finder, options } = service(1);
    const first = await finder.find(instance("ins-9"), options);
    expect(await finder.findAgain(instance("ins-9"), first, options)).toEqual({ missing: "list" });
    // The 404 counts once GET is seen to work.
    expect(fake.asked).toEqual(["GET instances ins-9", "LIST instances prj-1", "GET instances ins-1"]);
  });

  test("is two lists after a GET that has never worked", async () => {
    const { fake, finder, options } = service(500);
    fake.getAnswer = "404 to all";
    const ids = ["ins-450", "ins-460"];
    const [first] = await Promise.all(ids.map((id) => finder.findRecent(instance(id), options)));
    if (first === undefined) throw new Error("there was no look");
    fake.unlisted.add("ins-450"); // moved to a page that was read already
    fake.whenAsked = (request) => {
      if (request.startsWith("LIST")) fake.unlisted.clear();
    };
    expect(idOf(await finder.findAgain(instance("ins-450"), first, options))).toBe("ins-450");
  });

  test("is a GET after a list if GET has worked", async () => {
    const { fake, finder, options } = service(2);
    await finder.find(instance("ins-1"), options);
    fake.unlisted.add("ins-2");
    const first = await finder.findInList(instance("ins-2"), options);
    expect(first).toEqual({ missing: "list" });
    expect(idOf(await finder.findAgain(instance("ins-2"), first, options))).toBe("ins-2");
  });

  test("is another list after a list if the service doesn't offer GET", async () => {
    const { fake, finder, options } = service(1);
    fake.getAnswer = "405";
    const first = await finder.find(instance("ins-9"), options);
    expect(await finder.findAgain(instance("ins-9"), first, options)).toEqual({ missing: "list" });
    expect(fake.countOf("LIST")).toBe(2);
  });

  test("is another list after a list if GET returns 404 and has never worked", async () => {
    const { fake, finder, options } = service(1);
    fake.getAnswer = "404 to all";
    fake.unlisted.add("ins-1"); // the list lags
    const first = await finder.findInList(instance("ins-1"), options);
    fake.unlisted.clear();
    expect(idOf(await finder.findAgain(instance("ins-1"), first, options))).toBe("ins-1");
  });
});

describe("an outage", () => {
  test.each(["findRecent", "find", "findInList"] as const)(
    "is an error of %s, never an absence",
    async (age) => {
      const { fake, finder, options } = service(2);
      fake.failure = new CloudInfraError("unavailable", "503", { status: 503 });
      const looks = ["ins-1", "ins-2"].map((id) => finder[age](instance(id), options));
      for (const look of looks) await expect(look).rejects.toBe(fake.failure);
      fake.failure = undefined;
      expect(idOf(await finder[age](instance("ins-1"), options))).toBe("ins-1");
    },
  );
});

/** So many at a time. */
async function inTurn<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const item of left) await work(item);
    }),
  );
}
