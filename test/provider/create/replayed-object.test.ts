import { describe, expect, test } from "vitest";
import { projectNews } from "../samples";
import { failureOf, type Service, startService } from "../service";

/** An `up` of a project in a process of its own. */
async function up({ newProviders }: Service): Promise<{ id: string }> {
  const { projects } = await newProviders();
  const { inputs } = await projects.check({}, projectNews());
  return projects.create(inputs);
}

/** A project whose creation was answered at once, with an answer that was lost. */
async function unanswered() {
  const service = await startService();
  const lost = service.emulator.fail({ method: "POST", kind: "lost-reply", times: 99 });
  await failureOf(up(service));
  lost.off();
  const [id = ""] = service.emulator.projects.keys();
  return { service, id };
}

describe("the first reply that the service returns again for a key", () => {
  test("is the result if the project exists", async () => {
    const { service, id } = await unanswered();
    expect(await up(service)).toMatchObject({ id });
    expect(service.emulator.projects.size).toBe(1);
  });

  test("is ignored if the project was deleted since, and another one is created", async () => {
    const { service, id } = await unanswered();
    const other = service.emulator.addProject();
    service.emulator.remove(id);
    const made = await up(service);
    expect([...service.emulator.projects.keys()]).toEqual([other.id, made.id]);
    expect(made.id).not.toBe(id);
  });
});
