import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type Emulator, type LoggedRequest, startEmulator } from "../../src/emulator";
import { changesOf, expectOk, noRequestsDuring, requestsDuring } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import type { ConfigValue, Engine } from "../harness/engine";
import { Leaks } from "../harness/leaks";
import { stateOf } from "../harness/state";
import { openWatched, type WatchedStack } from "../harness/watched-stack";
import { rewrite } from "./installed";
import { together } from "./together";

// The demo runs the quickstart (test/demo), and testing.test.ts runs the example with tests.
const EXAMPLES = ["fleet", "blue-green", "component", "importing", "several-regions"];

/** A program before it uses the component. */
const WITHOUT_COMPONENT = `import { Instance, Project } from "pulumi-cloudinfra";
const project = new Project("north-project", { region: "eu-1" }).id;
const common = { project, image: "debian-13", flavor: "small", network: "default" };
new Instance("north-web", { ...common, publicIp: "auto", labels: { role: "web" } });`;

/** Creates the objects that the example `importing` adopts. */
function given(emulator: Emulator): { project: string; web: string } {
  const project = emulator.addProject({ name: "shop", region: "eu-1" }).id;
  const fields = { name: "web", image: "debian-13", flavor: "large", network: "default", project };
  return { project, web: emulator.addInstance({ ...fields, labels: { role: "web", team: "theirs" } }).id };
}

const idsOf = ({ projects, instances }: Emulator): string[] => [...projects.keys(), ...instances.keys()];

/** Returns the addresses of a project's instances. */
const addressesIn = ({ instances }: Emulator, project: unknown): string[] =>
  [...instances.values()]
    .flatMap(({ fields, address }) => (fields.project === project && address ? address : []))
    .sort();

async function opened(
  engine: Engine,
  dir: string,
  config: Readonly<Record<string, ConfigValue>>,
  leaks: Leaks,
): Promise<WatchedStack> {
  // The types have their own test.
  const env = { CLOUDINFRA_JOURNAL_DIR: path.join(dir, "journal"), PULUMI_NODEJS_TRANSPILE_ONLY: "true" };
  const watched = await openWatched(engine, { dir, project: "examples", stack: "dev", config, env }, leaks);
  onTestFinished(() => watched.stack.dispose());
  return watched;
}

// All examples share a stack, because each command of the real CLI takes seconds.
describeLongOnEngines("the examples", (engine) => {
  it("preview without settings, are created, change as described, need no further changes, and are destroyed", async () => {
    const leaks = new Leaks();
    const deeds: string[] = []; // changes, with the instances at the time of the reply
    const note = ({ method, path: asked }: LoggedRequest): void => {
      const there = [...here.instances.values()].map(({ fields, status }) => `${fields.image} ${status}`);
      const website = there.filter((one) => /^(app|proxy)/.test(one)).sort();
      if (method !== "GET") deeds.push(`${method} ${asked}: ${website.join(", ")}`);
    };
    const behaviour = { operationMs: 100 };
    const here = await startEmulator({ token: leaks.token, behaviour, onRequest: note });
    onTestFinished(() => here.stop());
    const there = await startEmulator({ token: leaks.alsoToken(), behaviour });
    onTestFinished(() => there.stop());
    const old = given(here);
    const dir = together(EXAMPLES);
    const config = {
      ...{ "examples:projectId": old.project, "examples:webId": old.web },
      ...{ "examples:euEndpoint": there.endpoint, "examples:euToken": { secret: there.token } },
    };
    const { stack, search } = await opened(engine, dir, config, leaks);
    const preview = expectOk(await stack.run("preview"));
    expect(changesOf(preview)).toEqual({ create: 26 });
    await stack.setConfig("cloudinfra:endpoint", here.endpoint);
    await stack.setConfig("cloudinfra:token", { secret: here.token });
    const component = rewrite(path.join(dir, "component"), () => WITHOUT_COMPONENT);

    const up = expectOk(await stack.run("up"));
    expect(changesOf(up)).toEqual({ create: 19 });
    const first = await stack.deployment();
    const idIn = (state: typeof first, name: string): string => stateOf(state, name).id ?? "";
    const fleet = idIn(first, "fleet");

    // fleet: its function returns the addresses.
    expect(up.outputs.fleet).toEqual({ size: 5, addresses: addressesIn(here, fleet) });
    expect(addressesIn(here, fleet)).toHaveLength(2);
    // importing: the objects are adopted. Different values are changed, and unmanaged fields are kept.
    const said = up.diagnostics.map(({ message }) => message).join("\n");
    expect(said).toContain(`adopting instance ${old.web}`);
    expect([idIn(first, "shop"), idIn(first, "web")]).toEqual([old.project, old.web]);
    const labels = { role: "web", team: "theirs" };
    expect(here.instances.get(old.web)?.fields).toMatchObject({ flavor: "small", labels });
    expect(first.resources?.filter(({ protect }) => protect)).toHaveLength(2);
    // several-regions: each instance is in its region.
    const home = addressesIn(here, idIn(first, "shop-home"));
    const eu = addressesIn(there, idIn(first, "shop-eu"));
    expect(up.outputs["several-regions"]).toEqual({ addresses: { home: home[0], eu: eu[0] } });
    expect([...there.projects.values()].map(({ fields }) => fields.region)).toEqual(["eu-1"]);

    // A new image, another web server next to one of somebody else, the component, and no protection.
    await stack.setConfig("examples:image", "app-1.1");
    await stack.setConfig("examples:counts", '{"web":3}');
    const theirs = { name: "theirs", labels: { role: "web" }, public_ip: "203.0.113.99", project: fleet };
    const foreign = here.addInstance(theirs).id;
    rewrite(path.join(dir, "component"), () => component);
    rewrite(path.join(dir, "importing"), (program) => program.replaceAll(", protect: true", ""));
    deeds.length = 0;
    const change = expectOk(await stack.run("up"));
    expect(changesOf(change)).toEqual({ create: 8, replace: 1, update: 1 });
    const second = await stack.deployment();

    // fleet: no other instance changes, and the function also returns the instance of somebody else.
    const fleets = change.steps.filter(({ name, op }) => /^(web|worker)-\d/.test(name) && op !== "same");
    expect(fleets.map(({ op, name }) => `${op} ${name}`)).toEqual(["create web-3"]);
    expect(change.outputs.fleet).toEqual({ size: 6, addresses: addressesIn(here, fleet) });
    expect(addressesIn(here, fleet)).toContain("203.0.113.99");
    // blue-green: the new instance is created, the entrance points to it, and then the old one is deleted.
    const [behind, entrance] = [idIn(second, "app"), idIn(second, "entrance")];
    const both = "app-1.0 running, app-1.1 running, proxy-2.4 running";
    expect(deeds).toContain("POST /v1/instances: app-1.0 running, app-1.1 creating, proxy-2.4 running");
    expect(deeds.slice(-2)).toEqual([
      `PUT /v1/instances/${entrance}: ${both}`,
      `DELETE /v1/instances/${idIn(first, "app")}: app-1.1 running, proxy-2.4 running`,
    ]);
    expect(here.instances.get(entrance)?.fields.labels).toEqual({
      upstream: here.instances.get(behind)?.address,
    });
    const { address } = Object(up.outputs["blue-green"]);
    expect(change.outputs["blue-green"]).toEqual({ address, behind });
    // component: the existing resources become its children, and it registers its outputs.
    for (const name of ["north-project", "north-web"]) {
      expect(idIn(second, name)).toBe(idIn(first, name));
      expect(stateOf(second, name).parent).toBe(stateOf(second, "north").urn);
    }
    const south = idIn(second, "south-project");
    const [southern] = addressesIn(here, south);
    expect(stateOf(second, "south").outputs).toEqual({ project: south, address: southern });
    const [northern] = addressesIn(here, idIn(second, "north-project"));
    expect(change.outputs.component).toEqual({ addresses: { north: northern, south: southern } });

    // Nothing is left to do. Only the fleet's function sends a request.
    const again = await requestsDuring(here, () => noRequestsDuring(there, () => stack.run("up")));
    expect(changesOf(expectOk(again.value)), again.value.output).toEqual({});
    expect(again.requests).toEqual(["GET /v1/instances"]);

    here.remove(foreign);
    expectOk(await stack.run("destroy"));
    expect([...idsOf(here), ...idsOf(there)]).toEqual([]);
    for (const { requests } of [here, there])
      expect(requests.filter(({ headers }) => headers.authorization !== "ok")).toEqual([]);
    await search();
    leaks.expectNone();
  });

  it("blue-green keeps the old instance if the creation of the new one fails, and continues in the next up", async () => {
    const leaks = new Leaks();
    const emulator = await startEmulator({ token: leaks.token, behaviour: { operationMs: 100 } });
    onTestFinished(() => emulator.stop());
    const config = {
      "cloudinfra:endpoint": emulator.endpoint,
      "cloudinfra:token": { secret: emulator.token },
    };
    const { stack, search } = await opened(engine, together(["blue-green"]), config, leaks);
    const { behind } = Object(expectOk(await stack.run("up")).outputs["blue-green"]);
    const before = structuredClone([...emulator.instances.values()]);
    await stack.setConfig("examples:image", "app-1.1");
    emulator.failNextOperation({ kind: "create" });
    expect((await stack.run("up")).ok).toBe(false);
    expect([...emulator.instances.values()]).toEqual(before);

    expect(changesOf(expectOk(await stack.run("up")))).toEqual({ replace: 1, update: 1 });
    const images = [...emulator.instances.values()].map(({ fields }) => fields.image);
    expect(images.sort()).toEqual(["app-1.1", "proxy-2.4"]);
    expect(emulator.instances.has(behind)).toBe(false);
    await search();
    leaks.expectNone();
  });
});
