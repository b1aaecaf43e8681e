import { expect, onTestFinished, test } from "vitest";
import { type Emulator, startEmulator } from "../../../src/emulator";
import { oneInstance } from "../one-instance";
import type { ServiceOptions } from "../service";

const SHORT = { __timeouts: { create: "5s", update: "5s" } };

/** An instance whose creation goes on at its service, and the settings of another service under the profile "us". */
async function cutOff(behaviour: ServiceOptions["behaviour"] = {}) {
  const us: Emulator = await startEmulator({ behaviour: { operationMs: 0 } });
  onTestFinished(() => us.stop());
  const profiles = JSON.stringify({ us: { endpoint: us.endpoint, token: us.token } });
  const { service, web } = await oneInstance({
    behaviour: { operationMs: 3_600_000, ...behaviour },
    config: { profiles },
  });
  expect(await web.up(SHORT)).toContain("is not over");
  return { us, service, web };
}

test("a creation that goes on under its object's id is not asked for, nor taken for failed, at another service", async () => {
  const { us, service, web } = await cutOff({ resultLink: "early" });
  const { id } = web.there();
  expect(await web.up({ ...SHORT, profile: "us" })).toContain("was recorded at");
  expect(us.requests).toEqual([]);
  expect(web.there().state.__pending).not.toHaveProperty("failed");
  service.emulator.finishOperations();
  expect(await web.up(SHORT)).toBeUndefined();
  expect(await web.expectOne()).toBe(id);
});

test("a creation that goes on under its operation is not asked for, nor made again, at another service", async () => {
  const { us, service, web } = await cutOff();
  expect(await web.up({ ...SHORT, profile: "us" })).toContain("was recorded at");
  expect(us.requests).toEqual([]);
  service.emulator.finishOperations();
  expect(await web.up(SHORT)).toBeUndefined();
  await web.expectOne();
});

test("a creation whose object isn't known can be given up if its address was wrong", async () => {
  const { web } = await cutOff();
  const message = await web.up({ ...SHORT, profile: "us" });
  expect(message?.replace(/\s+/g, " ")).toContain(
    "If the old address was wrong and nothing was created there, run `pulumi state delete <urn>`",
  );
});
