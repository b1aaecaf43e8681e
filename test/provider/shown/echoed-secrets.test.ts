import { expect, test } from "vitest";
import { oneInstance } from "../one-instance";

const SECRET = "hunter2-of-the-backend";

test("a token that the service repeats as the status of an operation is in no words", async () => {
  const { service, web } = await oneInstance();
  service.emulator.behaviour.failedStatus = `failed ${service.emulator.token}`;
  service.emulator.failNextOperation({ kind: "create" });
  const said = await web.up();
  expect(said).toContain('ended as "failed [secret]"');
  expect(said).not.toContain(service.emulator.token);
});

test("a name that is a secret is not in the warning about what a stored failure may have left", async () => {
  const { service, web } = await oneInstance();
  service.emulator.addInstance({ project: web.project, name: SECRET });
  service.emulator.fail({ method: "POST", kind: "status", status: 500, cached: true });
  await web.up({ name: SECRET, __secrets: ["name"] });
  expect(service.warnings.join("\n")).toContain('failed to create instance "web"');
  expect(service.warnings.join("\n")).not.toContain(SECRET);
});
