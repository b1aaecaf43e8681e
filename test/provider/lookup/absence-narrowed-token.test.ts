import { expect, test } from "vitest";
import { CloudInfraError } from "../../../src/diagnostics/error";
import { instanceKind, projectKind } from "../../../src/model/resource-fields";
import { deadlineIn } from "../../../src/polling/clock";
import { findOrConfirmAbsence } from "../../../src/provider/absence";
import { ObjectFinder } from "../../../src/provider/lookup/object-finder";
import { FakeClock } from "../../polling/fake-clock";
import { callTo } from "../fake-call";
import { FakeService } from "../fake-service";
import { changed, existingInstance, failureOf, startService } from "../service";

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
