import { describe, expect, onTestFinished, test, vi } from "vitest";
import { EngineLog } from "../../src/provider/progress";
import { isMarked } from "./marked";
import { oneInstance, URN } from "./one-instance";
import { OTHER_KEY } from "./samples";
import { changed, existingInstance, existingProject, failureOf, startService } from "./service";
import { startRaced } from "./update/raced-service";

const SECRET = "hunter2-of-the-backend";

test("a token that the service returns as the status of an operation is in no message", async () => {
  const { service, web } = await oneInstance();
  service.emulator.behaviour.failedStatus = `failed ${service.emulator.token}`;
  service.emulator.failNextOperation({ kind: "create" });
  const said = await web.up();
  expect(said).toContain('ended with status "failed [secret]"');
  expect(said).not.toContain(service.emulator.token);
});

test("a secret name is not in the warning about the possible object of a failed creation", async () => {
  const { service, web } = await oneInstance();
  service.emulator.addInstance({ project: web.project, name: SECRET });
  service.emulator.fail({ method: "POST", kind: "status", status: 500, cached: true });
  await web.up({ name: SECRET, __secrets: ["name"] });
  expect(service.warnings.join("\n")).toContain('failed to create instance "web"');
  expect(service.warnings.join("\n")).not.toContain(SECRET);
});

test.each([
  ["hunter2-key", "replaced", "[secret]"],
  ["team", "kept, because it may be an ordinary word", "team"],
])("the key %s of a secret label is %s in errors", async (key, _, shown) => {
  const service = await startService();
  const saved = await existingInstance(service);
  service.emulator.refuseUpdatesOf("labels", { detail: `the label ${key} isn't allowed` });
  const news = changed(saved, { labels: { [key]: "some-value" }, __secrets: ["labels"] });
  const { message } = await failureOf(service.instances.update(saved.id, saved.state, news));
  expect(message).toContain(`the label ${shown} isn't allowed`);
});

describe("a secret as the service normalizes it", () => {
  const flavor = { flavor: "small", __secrets: ["flavor"] };
  const spelling = (now: object) => ({ ...now, flavor: `flv-of-${Object(now).flavor}` });

  test("is in no error, even if the service returns it there", async () => {
    const service = await startService({ behaviour: { spelling } });
    const saved = await existingInstance(service, flavor);
    service.emulator.refuseUpdatesOf("network", { detail: "flv-of-small can't be in that network" });
    const news = changed(saved, { network: "backend" });
    const { message } = await failureOf(service.instances.update(saved.id, saved.state, news));
    expect(message).toContain("[secret] can't be in that network");
    expect(message).not.toContain("flv-of");
  });

  test("is not in the table of a conflict", async () => {
    const service = await startService({ behaviour: { spelling } });
    const saved = await existingInstance(service, flavor);
    service.emulator.edit(saved.id, { network: "flv-of-small", flavor: "theirs" });
    const news = changed(saved, { name: "front" });
    const { message } = await failureOf(service.instances.update(saved.id, saved.state, news));
    expect(message).toContain("another client changed flavor, network");
    expect(message).not.toMatch(/flv-of|theirs/);
  });
});

const isSecret = (value: unknown): boolean =>
  Object(value)["4dabf18193072939515e22adb298388d"] === "1b47061264138c4ac30d75fd1eb44270";

test("`additionalProperties` is secret even if no program has marked it, as after `pulumi import` and a refresh", async () => {
  const service = await startService({ behaviour: { extraFields: { first_password: SECRET } } });
  const { id, state } = await existingInstance(service);
  const { __urn, additionalProperties, ...imported } = state;
  const { props } = await service.instances.read(id, imported);
  expect(props?.additionalProperties).toMatchObject({ value: { first_password: SECRET } });
  expect(isSecret(props?.additionalProperties)).toBe(true);
});

describe("a secret of another resource", () => {
  test("is in no error of an instance in a project with a secret name", async () => {
    const service = await startService();
    const project = await existingProject(service, { name: SECRET, __secrets: ["name"] });
    const saved = await existingInstance(service, { project: project.id, __key: OTHER_KEY });
    await service.projects.check(project.inputs, project.inputs);
    service.emulator.refuseUpdatesOf("flavor", { detail: `the quota of project '${SECRET}' is exceeded` });
    const news = changed(saved, { flavor: "m1.large" });
    const { message } = await failureOf(service.instances.update(saved.id, saved.state, news));
    expect(message).toContain("the quota of project '[secret]' is exceeded");
    expect(message).not.toContain(SECRET);
  });

  test("is in no error of a project after its instance was deleted", async () => {
    const service = await startService();
    const project = await existingProject(service);
    const hidden = { name: SECRET, __secrets: ["name"] };
    const saved = await existingInstance(service, { project: project.id, __key: OTHER_KEY, ...hidden });
    await service.instances.delete(saved.id, saved.state);
    const problem = { detail: `the project still contains the volume '${SECRET}-1'` };
    service.emulator.fail({ method: "DELETE", kind: "status", status: 409, problem, times: 9 });
    const { message } = await failureOf(service.projects.delete(project.id, project.state));
    expect(message).toContain("the project still contains the volume '[secret]-1'");
    expect(message).not.toContain(SECRET);
  });

  test("is in no warning, even as the service normalizes it", async () => {
    const spelling = (now: object) => ({ ...now, flavor: `flv-of-${Object(now).flavor}` });
    const service = await startRaced({ behaviour: { spelling } });
    const saved = await existingInstance(service);
    const news = {
      ...saved.inputs,
      __urn: `${URN}-2`,
      __key: OTHER_KEY,
      flavor: "h-1",
      __secrets: ["flavor"],
    };
    await service.instances.create((await service.instances.check({}, news)).inputs);
    service.emulator.behaviour.extraFields = { "uses flv-of-h-1": "yes" };
    service.after("PUT", () => {
      service.emulator.behaviour.extraFields = {};
    });
    await service.updated(saved, { name: "front" });
    expect(service.warnings.join()).toContain("had uses [secret] before an update, but not after");
  });
});

describe("an output that repeats a secret input", () => {
  const address = { publicIp: "198.51.100.77", __secrets: ["publicIp"] };

  test("is marked as secret for the engine, for example the address of a secret `publicIp`", async () => {
    const service = await startService();
    const saved = await existingInstance(service, address);
    expect(saved.state.ipAddress).toMatchObject({ value: "198.51.100.77" });
    const state = { ...saved.state, ipAddress: "198.51.100.77" };
    const news = changed(saved, { flavor: "m1.large" });
    const { outs } = await service.instances.update(saved.id, state, news);
    const { props } = await service.instances.read(saved.id, state);
    for (const outputs of [saved.state, outs, { ...props }]) {
      expect(isMarked(outputs.ipAddress)).toBe(true);
      expect(isMarked(outputs.url)).toBe(false);
    }
  });

  test("is also marked in the state after a failed update", async () => {
    const service = await startService();
    const saved = await existingInstance(service, address);
    service.emulator.ignoreUpdatesOf("flavor");
    const state = { ...saved.state, ipAddress: "198.51.100.77" };
    const error = await failureOf(
      service.instances.update(saved.id, state, changed(saved, { flavor: "m1.large" })),
    );
    expect(isMarked(Object(Object(error).properties).ipAddress)).toBe(true);
  });

  test("is marked inside other text, for example in a URL or a description with a secret name", async () => {
    const service = await startService({
      behaviour: { extraFields: { url: "https://example.com/hush%20name" } },
    });
    const saved = await existingInstance(service, { name: "hush name", __secrets: ["name"] });
    expect(isMarked(saved.state.url)).toBe(true);
    expect(isMarked(saved.state.status)).toBe(false);
  });

  test("is marked if it may contain the secret name in another form, for example as a part of the URL", async () => {
    const service = await startService({
      behaviour: { extraFields: { url: "https://example.com/top-secret-name" } },
    });
    const saved = await existingInstance(service, { name: "Top Secret Name", __secrets: ["name"] });
    expect(isMarked(saved.state.url)).toBe(true);
    expect(isMarked(saved.state.ipAddress)).toBe(false);
    const project = await existingProject(service, {
      __key: OTHER_KEY,
      name: "Top Secret Name",
      __secrets: ["name"],
    });
    expect(isMarked(project.state.description)).toBe(true);
  });

  test("is in plaintext if no input is secret", async () => {
    const saved = await existingInstance(await startService(), { publicIp: "198.51.100.77" });
    expect(saved.state.ipAddress).toBe("198.51.100.77");
  });
});

describe("an id that the service derives from a secret name", () => {
  const NAME = "Hunter Two: the backend";
  const HIDDEN = { name: NAME, __secrets: ["name"] };
  const slug = /hunter[ -]two/i;

  async function secretInstance() {
    const { service, web } = await oneInstance({ behaviour: { ids: "slug" } });
    await web.up(HIDDEN);
    expect(web.inState().id).toMatch(slug);
    return { service, web };
  }

  /** Records the status messages of all processes during a test. */
  function statusMessages(): string[] {
    const messages: string[] = [];
    const write = async (message: string): Promise<void> => void messages.push(message);
    const spy = vi.spyOn(EngineLog.prototype, "statusLogFor").mockReturnValue({ write });
    onTestFinished(() => spy.mockRestore());
    return messages;
  }

  test("is in no error", async () => {
    const { service, web } = await secretInstance();
    service.emulator.fail({ method: "DELETE", kind: "status", status: 409 });
    const said = await web.destroy();
    expect(said).toContain('deleting instance "web" ([secret])');
    expect(said).not.toMatch(slug);
  });

  test("is in no status message about an import or a kept object", async () => {
    const { web } = await secretInstance();
    const { id, state, inputs } = web.inState();
    const messages = statusMessages();
    const process = await web.process();
    await process.check({}, { ...web.news(HIDDEN), __import: id });
    const kept = await web.process();
    await kept.diff(id, state, (await kept.check(inputs, web.news(HIDDEN))).inputs);
    await kept.delete(id, { ...state, __key: OTHER_KEY });
    expect(messages).toContain("adopting instance [secret]");
    expect(messages).toContain("kept instance [secret]: another resource in the program uses it");
    expect(messages.join()).not.toMatch(slug);
  });

  test("is in no failure of a check", async () => {
    const { web } = await secretInstance();
    const { id, state, inputs } = web.inState();
    const process = await web.process();
    await process.diff(id, state, (await process.check(inputs, web.news(HIDDEN))).inputs);
    const twin = { ...web.news(HIDDEN), __urn: `${URN}-2`, __import: id };
    const { failures } = await process.check({}, twin);
    expect(failures.map(({ reason }) => reason).join()).toContain(
      "import: instance [secret] is already managed",
    );
  });
});
