import { describe, expect, test } from "vitest";
import type { FaultRule } from "../../../src/emulator";
import { OneInstance, oneInstance } from "../one-instance";
import { changed, existingInstance, existingProject, failureOf, startService } from "../service";

const SHORT = { __timeouts: { create: "5s", update: "5s" } };
const secret = (flavor: string) => ({ flavor, __secrets: ["flavor"] });
const suspended = (flavor: string): FaultRule => ({
  ...{ kind: "status", status: 403, method: "GET", path: "/v1/operations/", times: 99 },
  problem: { code: "suspended", detail: `no ${flavor} in this account` },
});

describe("a secret that the program has changed since is not in an error", () => {
  test("about the operation of an interrupted creation", async () => {
    const { service, web } = await oneInstance({ behaviour: { operationMs: 3_600_000 } });
    await web.up({ ...SHORT, ...secret("hush-first") });
    service.emulator.fail(suspended("hush-first"));
    expect(await web.up(secret("hush-second"))).toContain("no [secret] in this account");
  });

  test("about the resent request of an interrupted creation", async () => {
    const { service, web } = await oneInstance();
    const lost = service.emulator.fail({ kind: "reset", method: "POST", times: 99 });
    await web.up(secret("hush-first"));
    lost.off();
    service.emulator.refuse("flavor", "hush-first", { detail: "there is no hush-first" });
    expect(await web.up(secret("hush-second"))).toContain("there is no [secret]");
  });

  test("about the operation of an interrupted update", async () => {
    const { service, web } = await oneInstance({ behaviour: { putReply: 202 } });
    await web.up(secret("hush-first"));
    service.emulator.behaviour.operationMs = 3_600_000;
    await web.up({ ...SHORT, ...secret("hush-second") });
    service.emulator.fail(suspended("hush-second"));
    expect(await web.up(secret("hush-third"))).toContain("no [secret] in this account");
  });

  test("about a killed creation that its project's deletion finds", async () => {
    const service = await startService({ behaviour: { operationMs: 3_600_000 } });
    const project = await existingProject(service);
    await new OneInstance(service, project).killedUp(secret("hush-first"));
    service.emulator.fail(suspended("hush-first"));
    const { projects } = await service.newProviders();
    expect((await failureOf(projects.delete(project.id, project.state))).message).toContain(
      "no [secret] in this account",
    );
  });

  test("about the deletion of the replaced object", async () => {
    const { service, web } = await oneInstance();
    await web.up({ image: "hush-image", __secrets: ["image"] });
    service.emulator.fail({
      ...{ kind: "status", status: 409, method: "DELETE", times: 99 },
      problem: { code: "in_use", detail: "the instance of hush-image is in use" },
    });
    expect(await web.up({ image: "debian-14" }, { deleteBeforeReplace: false })).toContain(
      "the instance of [secret] is in use",
    );
  });
});

test("the keys of secret labels are not in an error, neither in the path nor in the message", async () => {
  const { service, web } = await oneInstance();
  service.emulator.fail({
    ...{ kind: "status", status: 422, method: "POST", times: 99 },
    problem: {
      code: "validation_failed",
      errors: [{ pointer: "/labels/acme", detail: "is reserved" }, { detail: "hush-customer is reserved" }],
    },
  });
  const said = await web.up({ labels: { acme: "1", "hush-customer": "2" }, __secrets: ["labels"] });
  expect(said).toContain("labels: is reserved");
  expect(said).toContain("[secret] is reserved");
  expect(said).not.toMatch(/acme|hush/);
});

test("a secret that an update replaces is not in its error", async () => {
  const service = await startService();
  const saved = await existingInstance(service, { flavor: "s3cret-old", __secrets: ["flavor"] });
  service.emulator.refuseUpdatesOf("flavor", { detail: "s3cret-old can't become s3cret-new" });
  const news = changed(saved, { flavor: "s3cret-new" });
  const { message } = await failureOf(service.instances.update(saved.id, saved.state, news));
  expect(message).toContain("[secret]");
  expect(message).not.toContain("s3cret-");
});
