import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { CloudInfraError } from "../../src/diagnostics/error";
import type { Emulator } from "../../src/emulator";
import { instanceKind, projectKind } from "../../src/model/resource-fields";
import { deadlineIn, remainingMs } from "../../src/polling/clock";
import { findOrConfirmAbsence, readUntil } from "../../src/provider/absence";
import { ObjectFinder } from "../../src/provider/lookup/object-finder";
import type { ObjectRef } from "../../src/provider/lookup/object-getter";
import { FakeClock } from "../polling/fake-clock";
import { callTo } from "./fake-call";
import { FakeService } from "./fake-service";
import { oneInstance } from "./one-instance";
import { changed, existingInstance, failureOf, type Service, startService } from "./service";

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

function aRefresh() {
  const fake = new FakeService();
  const clock = new FakeClock({ auto: true });
  fake.addProject("prj-1");
  for (const id of ["ins-1", "ins-2"]) fake.addInstance(id, "prj-1");
  return {
    fake,
    finder: new ObjectFinder(fake.client(), clock, 60_000),
    options: { deadline: deadlineIn(60_000, clock) },
  };
}

test("an object that a list doesn't show is requested with GET, even if GET was never used before", async () => {
  const { fake, finder, options } = aRefresh();
  fake.unlisted.add("ins-2"); // a list that lags, or that leaves out what is stopped or was moved
  const ref = { kind: instanceKind, id: "ins-2", project: "prj-1" };
  const first = await finder.findInList(ref, options);
  expect(await finder.findAgain(ref, first, options)).toMatchObject({ found: { id: "ins-2" } });
});

test("a project that the token can no longer read doesn't count as deleted, although another one is visible", async () => {
  const { fake, finder, options } = aRefresh();
  fake.addProject("prj-2");
  fake.unlisted.add("prj-1");
  const ref = { kind: projectKind, id: "prj-1", project: undefined };
  const first = await finder.findInList(ref, options);
  const forbidden = new CloudInfraError("forbidden", "403", { status: 403 });
  fake.whenAsked = (request) => {
    fake.failure = request.startsWith("GET") ? forbidden : undefined;
  };
  await expect(finder.findAgain(ref, first, options)).rejects.toBe(forbidden);
});

test("an instance doesn't count as deleted if the token can no longer read its project, although another one is visible", async () => {
  const fake = new FakeService();
  fake.addProject("prj-2");
  const ref = { kind: instanceKind, id: "ins-1", project: "prj-1" };
  const call = callTo(fake, instanceKind);
  const forbidden = new CloudInfraError("forbidden", "403", { status: 403 });
  fake.whenAsked = (request) => {
    fake.failure = request === "GET projects prj-1" ? forbidden : undefined;
  };
  await expect(findOrConfirmAbsence(call, ref, { missing: "get" })).rejects.toBe(forbidden);
});

test("an update doesn't treat an instance as deleted if the token can no longer read its project", async () => {
  const service = await startService();
  const saved = await existingInstance(service);
  service.emulator.remove(saved.id);
  for (const id of [...service.emulator.projects.keys()]) service.emulator.remove(id);
  const news = changed(saved, { flavor: "m1.large" });
  const { message } = await failureOf(service.instances.update(saved.id, saved.state, news));
  expect(message).toContain("the token may belong to another account");
  expect(message).not.toContain("no longer exists");
});

/** Starts a service that accepts the name of its project in place of the id, and shows the id. */
async function startWithNames(): Promise<Service> {
  const { emulator, ...service } = await startService();
  const project = emulator.addProject({ name: "shop" });
  const endpoint = await startGateway(emulator, (request) =>
    request.replace(/(project=|projects\/|"project":")shop\b/, `$1${project.id}`),
  );
  const newProviders: Service["newProviders"] = (more) => service.newProviders({ endpoint, ...more });
  return { emulator, ...service, newProviders };
}

async function startGateway({ endpoint }: Emulator, rewrite: (request: string) => string): Promise<string> {
  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const body = rewrite(await text(request));
    const kept = ["authorization", "idempotency-key", "if-match"].flatMap((name) => {
      const value = headers[name];
      return typeof value === "string" ? [[name, value]] : [];
    });
    const reply = await fetch(new URL(rewrite(url), endpoint), {
      method,
      headers: { ...Object.fromEntries(kept), "content-type": "application/json" },
      ...(body !== "" && { body }),
    });
    response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

test("a deletion is confirmed if the program names the project and the service shows its id", async () => {
  const service = await startWithNames();
  const { id, state } = await existingInstance(service, { project: "shop" });
  expect(state.project).toBe("shop");
  const { instances } = await service.newProviders();
  await instances.delete(id, state);
  expect(service.emulator.instances.size).toBe(0);
});

test("a refresh removes a deleted instance if the program names the project and the service shows its id", async () => {
  const service = await startWithNames();
  const { id, state } = await existingInstance(service, { project: "shop" });
  service.emulator.remove(id);
  const { instances } = await service.newProviders();
  expect(await instances.read(id, state)).toEqual({});
});

const forms = {
  link: (project: unknown) => `/v1/projects/${project}`,
  "id in upper case": (project: unknown) => String(project).toUpperCase(),
};

describe.each(Object.entries(forms))(
  "a service that shows a %s in place of the project's id",
  (_name, form) => {
    const spelling = (now: Readonly<Record<string, unknown>>): object => ({
      ...now,
      project: form(now.project),
    });

    test.each([200, 404, 405] as const)(
      "confirms a deletion, and a refresh after one: GET %d",
      async (getObject) => {
        const service = await startService({ behaviour: { spelling, getObject } });
        const [one, other] = [await existingInstance(service), await existingInstance(service)];
        service.emulator.remove(other.id);
        const { instances } = await service.newProviders();
        await instances.delete(one.id, one.state);
        expect(service.emulator.instances.size).toBe(0);
        expect(await instances.read(other.id, other.state)).toEqual({});
      },
    );
  },
);

test("a refresh keeps a new instance if the service supports only lists, and they come from an outdated replica", async () => {
  const { service, web } = await oneInstance({ behaviour: { getObject: 405 } });
  await service.clock.sleep(60_000);
  await web.up();
  Object.assign(service.emulator.behaviour, { lagMs: 20_000, lagIn: "lists" });
  await web.refresh();
  expect(await web.up()).toBeUndefined();
  expect(service.emulator.instances.size).toBe(1);
});

test("a refresh removes a new instance that somebody has deleted if the service supports only lists", async () => {
  const { service, web } = await oneInstance({ behaviour: { getObject: 405 } });
  await web.up();
  service.emulator.remove(web.inState().id);
  await web.refresh();
  expect(web.saved).toBeUndefined();
});

test("slow reads are repeated only as long as another one fits before the deadline", async () => {
  const call = callTo(new FakeService(), instanceKind);
  const { deadline } = call;
  const { clock } = call.session;
  const read = async (): Promise<void> => {
    await clock.sleep(11_000);
    expect(remainingMs(deadline, clock)).toBeGreaterThan(0);
  };
  await readUntil(
    call,
    read,
    () => false,
    () => "deadline",
  );
  expect(remainingMs(deadline, clock)).toBeLessThan(15_000);
});
