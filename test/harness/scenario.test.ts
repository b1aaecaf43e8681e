import { existsSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { changesOf, expectConverged, expectOk, noRequestsDuring, requestsDuring } from "./assertions";
import { describeOnEngines } from "./describe-on-engines";
import type { Engine } from "./engine";
import { type Scenario, withStack } from "./scenario";
import { ownStates, stateOf } from "./state";

const PROGRAM = `
  const project = new Project("shop", { region: "eu-1" });
  const web = new Instance("web", { project: project.id, image: "debian-13", flavor: "small", network: "default" });
  module.exports = { web: web.id };`;

describeOnEngines("a scenario", (engine: Engine) => {
  it("has a service, a configured stack and a program that uses the package", async () => {
    await withStack(engine, { program: PROGRAM }, async (scenario) => {
      const { stack, emulator, write } = scenario;
      await noRequestsDuring(emulator, async () => expectOk(await stack.run("preview")));
      const { value: up, requests } = await requestsDuring(emulator, () => stack.run("up"));
      expect(changesOf(expectOk(up))).toEqual({ create: 3 });
      expect(requests[0]).toBe("POST /v1/projects");
      expect(up.outputs).toEqual({ web: [...emulator.instances.keys()][0] });
      await expectConverged(scenario);
      const refreshing = noRequestsDuring(emulator, () => stack.run("refresh"));
      await expect(refreshing).rejects.toThrow("asked the service: GET /v1/");

      write(PROGRAM.replace("small", "large"));
      await expect(expectConverged(scenario)).rejects.toThrow("web update");
      expect(stateOf(await stack.deployment(), "web").inputs).toMatchObject({ flavor: "large" });
      expect(ownStates(await stack.deployment())).toHaveLength(2);
    });
  });

  it("can omit settings and change the behavior of the service", async () => {
    const config = { "cloudinfra:token": undefined };
    await withStack(
      engine,
      { program: PROGRAM, config, behaviour: { projectPost: 202 } },
      async ({ stack, emulator }) => {
        const result = await stack.run("up");
        expect(result.ok).toBe(false);
        expect(result.output).toContain("cloudinfra:token");
        expect(emulator.requests).toEqual([]);
        expect(emulator.behaviour).toMatchObject({ projectPost: 202, operationMs: 100 });
      },
    );
  });

  it("fails if the token leaks to a file or to output", async () => {
    const leaking = withStack(engine, { program: PROGRAM }, async ({ emulator, leaks, dir }) => {
      const file = path.join(dir, "entry.jsonl");
      writeFileSync(file, emulator.token);
      await fetch(emulator.endpoint);
      rmSync(file);
      leaks.said("an error", emulator.token);
    });
    await expect(leaking).rejects.toThrow(/^2 leaks:\nthe token.* entry\.jsonl .*\nthe token.* an error /);
  });

  it("removes its folder and stops the service even if its body fails", async () => {
    let left: Scenario | undefined;
    const failing = withStack(engine, { program: PROGRAM }, async (scenario) => {
      left = scenario;
      throw new Error("the body failed");
    });
    await expect(failing).rejects.toThrow("the body failed");
    expect(existsSync(left?.dir ?? ".")).toBe(false);
    await expect(fetch(left?.emulator.url ?? "")).rejects.toThrow("fetch failed");
  });
});
