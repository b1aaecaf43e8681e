import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import { changesOf, expectConverged, expectOk, requestsDuring } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { inClear, stateOf, statesOf } from "../harness/state";

/** A change by somebody else to the instance with this name, and the refreshed state. */
const drifts: Record<string, { edit: Record<string, unknown>; shown: Record<string, unknown> }> = {
  name: { edit: { name: "theirs" }, shown: { name: "theirs" } },
  flavor: { edit: { flavor: "huge" }, shown: { flavor: "huge" } },
  network: { edit: { network: "theirs" }, shown: { network: "theirs" } },
  sshKeys: { edit: { ssh_keys: ["ssh-rsa THEIRS"] }, shown: { sshKeys: ["ssh-rsa THEIRS"] } },
  labels: { edit: { labels: { a: "theirs", more: "x" } }, shown: { labels: { a: "theirs" } } },
};

const program = `
  const project = new Project("p", { region: "eu-1" });
  const args = { project: project.id, image: "ubuntu", flavor: "small", network: "n", sshKeys: ["ssh-rsa AAAA"], labels: { a: "1" } };
  ${Object.keys(drifts)
    .map((name) => `new Instance("${name}", { ...args, name: "${name}-1" });`)
    .join("\n")}
  new Instance("foreignLabel", args);
  new Instance("statusOnly", args);
  new Instance("image", args);
`;

describeLongOnEngines("a refresh", (engine) => {
  it("shows the drift of each field, and the next up reverts it", async () => {
    await withStack(engine, { program }, async ({ stack, emulator }) => {
      expectOk(await stack.run("up"));
      const before = await stack.deployment();
      const idOf = (name: string): string => stateOf(before, name).id ?? "";
      for (const [name, { edit }] of Object.entries(drifts)) emulator.edit(idOf(name), edit);
      emulator.edit(idOf("foreignLabel"), { labels: { a: "1", theirs: "kept" } });
      emulator.edit(idOf("statusOnly"), { status: "stopped" });
      emulator.edit(idOf("image"), { image: "theirs" });

      const { value, requests } = await requestsDuring(emulator, () => stack.run("refresh"));
      expectOk(value);
      expect(requests.filter((request) => request === "GET /v1/instances")).toHaveLength(1);
      const refreshed = await stack.deployment();
      for (const [name, { shown }] of Object.entries(drifts)) {
        expect(inClear(stateOf(refreshed, name).inputs), name).toMatchObject(shown);
        expect(inClear(stateOf(refreshed, name).outputs), name).toMatchObject(shown);
      }
      expect(inClear(stateOf(refreshed, "foreignLabel").outputs)).toMatchObject({ labels: { a: "1" } });
      expect(inClear(stateOf(refreshed, "statusOnly").outputs)).toMatchObject({ status: "stopped" });

      const preview = expectOk(await stack.run("preview"));
      expect(changesOf(preview)).toEqual({ update: Object.keys(drifts).length, replace: 1 });
      expect(changesOf(expectOk(await stack.run("up")))).toEqual(changesOf(preview));
      for (const { fields } of emulator.instances.values()) {
        expect(fields).toMatchObject({
          image: "ubuntu",
          flavor: "small",
          network: "n",
          ssh_keys: ["ssh-rsa AAAA"],
        });
        expect(fields.labels).toMatchObject({ a: "1" });
      }
      expect(emulator.instances.get(idOf("foreignLabel"))?.fields.labels).toEqual({ a: "1", theirs: "kept" });
      expect(emulator.instances.get(idOf("labels"))?.fields.labels).toEqual({ a: "1", more: "x" });
      await expectConverged({ stack, emulator });
    });
  });

  const two = `
    const project = new Project("p", { region: "eu-1" });
    const args = { project: project.id, image: "ubuntu", flavor: "small", network: "n" };
    new Instance("one", args);
    new Instance("two", args);
  `;

  it("removes a deleted instance from the state, and the next up recreates it", async () => {
    await withStack(engine, { program: two }, async ({ stack, emulator }) => {
      expectOk(await stack.run("up"));
      const gone = stateOf(await stack.deployment(), "one").id ?? "";
      emulator.remove(gone);
      expectOk(await stack.run("refresh"));
      expect(statesOf(await stack.deployment(), "one")).toEqual([]);
      expect(stateOf(await stack.deployment(), "two").id).toBeTruthy();
      expect(changesOf(expectOk(await stack.run("up")))).toEqual({ create: 1 });
      expect(emulator.instances.size).toBe(2);
    });
  });

  const one = `
    const project = new Project("p", { region: "eu-1" });
    new Instance("one", { project: project.id, image: "ubuntu", flavor: "small", network: "n" });
  `;

  it("keeps an instance whose creation date has changed, and the next up creates no other one", async () => {
    await withStack(engine, { program: one }, async ({ stack, emulator }) => {
      expectOk(await stack.run("up"));
      const [made] = emulator.instances.values();
      if (made === undefined) throw new Error("no instance");
      Object.assign(made, { createdAt: made.createdAt + 60_000 });
      emulator.touch(made.id);
      expectOk(await stack.run("refresh"));
      await expectConverged({ stack, emulator });
      expect([...emulator.instances.values()]).toEqual([made]);
    });
  });

  it("keeps an instance whose creation date was the start of the creation, and then its end", async () => {
    const behaviour = {
      ...({ operationMs: 500, lagMs: 2_500, lagIn: "reads", lagPart: "fields" } as const),
      spelling: (shown: Readonly<Record<string, unknown>>) => ({
        ...shown,
        ...(shown.status === "running" && {
          created_at: new Date(Date.parse(String(shown.created_at)) + 60_000).toISOString(),
        }),
      }),
    };
    await withStack(engine, { program: one, behaviour }, async ({ stack, emulator }) => {
      expectOk(await stack.run("up"));
      await setTimeout(3_000);
      expectOk(await stack.run("refresh"));
      await expectConverged({ stack, emulator });
      expect(emulator.instances.size).toBe(1);
    });
  });

  it("keeps all outputs of resources from `get`, and removes a resource that no longer exists", async () => {
    const looked = (ids: readonly string[]): string => `
      new Project("p", { region: "eu-1" });
      exports.found = pulumi.all(${JSON.stringify(ids)}.map((id, at) => Project.get("look" + at, id).description));
    `;
    await withStack(engine, { program: "" }, async ({ stack, emulator, write }) => {
      const ids = ["the first", "the second"].map((description) => emulator.addProject({ description }).id);
      write(looked(ids));
      expect(expectOk(await stack.run("up")).outputs.found).toEqual(["the first", "the second"]);
      const unchanged = expectOk(await stack.run("refresh"));
      expect(changesOf(unchanged), unchanged.output).toEqual({});
      expect(inClear(stateOf(await stack.deployment(), "look0").outputs)).toMatchObject({
        description: "the first",
      });

      emulator.remove(ids[1] ?? "");
      expectOk(await stack.run("refresh"));
      expect(statesOf(await stack.deployment(), "look1")).toEqual([]);
      const failed = await stack.run("up");
      expect(failed.ok).toBe(false);
      expect(failed.output).toMatch(/project \S+ doesn't exist/);
      write(looked(ids.slice(0, 1)));
      expectOk(await stack.run("up", { refresh: true }));
    });
  });

  it("fails and keeps the state if the token is rejected, the service is down or the account is wrong", async () => {
    await withStack(
      engine,
      { program: two, config: { "cloudinfra:operationTimeout": "3s" } },
      async (scenario) => {
        const { stack, emulator } = scenario;
        expectOk(await stack.run("up"));
        const kept = (await stack.deployment()).resources?.length;
        const expectAllInState = async (): Promise<void> => {
          expect((await stack.deployment()).resources).toHaveLength(kept ?? 0);
        };

        const token = emulator.token;
        emulator.changeToken("rotated");
        const refused = await stack.run("refresh");
        expect(refused.ok).toBe(false);
        expect(refused.output).toMatch(/401/);
        expect(refused.output).toMatch(/--run-program/);
        await expectAllInState();
        emulator.changeToken(token);

        const broken = emulator.fail({ kind: "status", status: 503, times: Number.POSITIVE_INFINITY });
        expect((await stack.run("refresh")).ok).toBe(false);
        broken.off();
        await expectAllInState();

        await emulator.pause();
        expect((await stack.run("refresh")).ok).toBe(false);
        await emulator.resume();
        await expectAllInState();
        await expectConverged({ stack, emulator });

        // Simulates another account, which contains no objects.
        for (const id of [...emulator.instances.keys(), ...emulator.projects.keys()]) emulator.remove(id);
        const empty = await stack.run("refresh");
        expect(empty.ok).toBe(false);
        expect(empty.output).toMatch(/another account/);
        expect(empty.output).toMatch(/pulumi state delete/);
        await expectAllInState();
      },
    );
  });
});
