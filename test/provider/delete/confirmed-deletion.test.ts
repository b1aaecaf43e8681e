import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { existingInstance, existingProject, failureOf, startService } from "../service";

test("the deletion of the only project succeeds after a lost reply, although the account then shows no projects", async () => {
  const service = await startService();
  const saved = await existingProject(service);
  service.emulator.fail({ method: "DELETE", kind: "lost-reply" });
  await service.projects.delete(saved.id, saved.state);
  expect(service.emulator.projects.size).toBe(0);
});

test("a service without DELETE may still offer GET", async () => {
  const service = await startService({ behaviour: { deleteObject: 405 } });
  const saved = await existingInstance(service);
  await failureOf(service.instances.delete(saved.id, saved.state));
  service.emulator.clearRequests();
  await service.clock.advance(31_000);
  await service.instances.read(saved.id, saved.state);
  expect(service.emulator.requests.map(({ path }) => path)).toEqual([`/v1/instances/${saved.id}`]);
});

const otherAccount = "the token may belong to another account";

test("a 404 after a 429 doesn't count as a successful DELETE", async () => {
  const service = await startService();
  const saved = await existingProject(service);
  service.emulator.remove(saved.id);
  service.emulator.fail({ method: "DELETE", kind: "status", status: 429 });
  const { message } = await failureOf(service.projects.delete(saved.id, saved.state));
  expect(message).toContain(otherAccount);
});

test("a 404 after a 401 doesn't count as a successful DELETE", async () => {
  const service = await startService();
  const saved = await existingProject(service);
  service.emulator.remove(saved.id);
  const folder = mkdtempSync(path.join(tmpdir(), "token-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const tokenFile = path.join(folder, "token");
  writeFileSync(tokenFile, "an-older-one");
  const { projects } = await service.newProviders({ token: "", tokenFile });
  expect((await failureOf(projects.read(saved.id, saved.state))).message).toContain("(401)");
  writeFileSync(tokenFile, service.emulator.token);
  service.emulator.clearRequests();
  const { message } = await failureOf(projects.delete(saved.id, saved.state));
  expect(service.emulator.requests.slice(0, 2).map(({ status }) => status)).toEqual([401, 404]);
  expect(message).toContain(otherAccount);
});
