import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { defaultBehaviour, startEmulator } from "pulumi-cloudinfra/emulator";
import { describe, expect, it } from "vitest";
import { commandLine } from "../../src/cli/main";
import { Controls } from "../../src/emulator/controls";
import { faultKinds } from "../../src/emulator/faults";
import { normalizations } from "../../src/emulator/normalization";
import { behaviourSettings } from "../../src/emulator/options";
import { parseCommandLine } from "../cli/command-line";
import { fenced, quoted, readMarkdown, section, tableRows } from "../readme/markdown";
import { instanceBody, open } from "./service";

const page = readMarkdown("docs/emulator.md");
/** The cells of all tables of a section. */
const cellsOf = (heading: string): string[][] =>
  section(page, heading)
    .split("\n\n")
    .flatMap((block) => tableRows(block).map((cells) => cells.map((cell) => cell.trim())));
/** Where lines end makes no difference. */
const flat = (text: string): string => text.replace(/\s+/g, " ").trim();

describe("docs/emulator.md: the command line", () => {
  it("lists the options of the help, with their defaults", () => {
    const action = async (): Promise<void> => {};
    const { commands } = commandLine("0.0.0", {
      emulator: action,
      import: action,
      probe: action,
      recover: action,
    });
    const options = commands
      .find((command) => command.name() === "emulator")
      ?.options.map(({ flags, description, defaultValue }) => [
        `\`${flags}\``,
        String(defaultValue ?? /\(default: "(.*)"\)/.exec(description)?.[1] ?? ""),
      ]);
    const rows = cellsOf("On the command line").map(([option, , usual = ""]) => [
      option,
      quoted(usual).join(),
    ]);
    expect(rows).toEqual(options);
  });

  it("shows valid commands", async () => {
    const commands = fenced(section(page, "On the command line"), "sh");
    expect(commands).toHaveLength(3);
    for (const command of commands) {
      const [, args = ""] = /^npx pulumi-cloudinfra emulator(.*)\n$/.exec(command) ?? [];
      expect(await parseCommandLine("emulator", ...args.split(" ").filter(Boolean))).toHaveProperty(
        "options",
      );
    }
  });
});

describe("docs/emulator.md: in code", () => {
  it("has a program that does what it says", async () => {
    const emulator = await startEmulator({ token: "a-token-for-tests", behaviour: { operationMs: 50 } });

    // Objects of other users, and their changes.
    const project = emulator.addProject({ name: "shop", region: "eu-1" });
    const web = emulator.addInstance({ project: project.id, name: "web", public_ip: "auto" });
    emulator.edit(web.id, { flavor: "large" });

    // The requests that it received, and the objects that it has.
    const authorization = `Bearer ${emulator.token}`;
    const reply = await fetch(`${emulator.endpoint}/instances/${web.id}`, { headers: { authorization } });
    assert.equal(reply.status, 200);
    assert.deepEqual(
      emulator.requests.map(({ method, path, status }) => `${method} ${path} ${status}`),
      [`GET /v1/instances/${web.id} 200`],
    );
    assert.equal(emulator.instances.get(web.id)?.fields.flavor, "large");

    // Faults.
    emulator.fail({ kind: "status", status: 429, retryAfter: 2, path: "/v1/instances/", times: 3 });
    emulator.fail({ kind: "slow", delayMs: 5_000, method: "POST" });
    emulator.failNextOperation({ kind: "create", problem: { detail: "no capacity left in eu-1" } });
    emulator.refuse("flavor", "huge");
    await emulator.pause(); // connections are refused
    await emulator.resume();

    await emulator.stop();

    const [program = ""] = fenced(page, "ts");
    const [, code = ""] = program.split('pulumi-cloudinfra/emulator";');
    expect(flat(readFileSync(__filename, "utf8"))).toContain(flat(code));
  });

  it("names all that an emulator has", () => {
    const named = cellsOf("In a test").flatMap(([name = ""]) => quoted(name));
    const members = Object.entries(Object.getOwnPropertyDescriptors(Controls.prototype)).map(
      ([name, { value }]) => (value ? `${name}()` : name),
    );
    const own = ["constructor()", "currentState()", "kindOf()"];
    expect([...named, ...own].sort()).toEqual(members.sort());
  });

  it("has every switch with its values and its default", () => {
    const usual = new Map(
      Object.entries(defaultBehaviour).map(([key, value]) => {
        if (Array.isArray(value)) return [key, [...value]];
        return [key, [typeof value === "object" ? JSON.stringify(value) : String(value)]];
      }),
    );
    const switches = Object.entries(behaviourSettings).map(([name, { allowed }]) => [
      [name],
      allowed.split("|"),
      usual.get(name) ?? [],
    ]);
    const rows = cellsOf("Switches");
    const ways = rows.splice(switches.length);
    expect(rows.map((cells) => cells.slice(0, 3).map(quoted))).toEqual(switches);
    expect(rows.filter(([, , , words]) => !words)).toEqual([]);
    expect(ways.map(([way = ""]) => quoted(way).join())).toEqual([...normalizations]);
  });

  it("has every kind of fault", () => {
    const rows = cellsOf("Faults");
    expect(rows.slice(0, faultKinds.length).map(([kind = ""]) => quoted(kind).join())).toEqual([
      ...faultKinds,
    ]);
    expect(rows.filter(([, words]) => !words)).toEqual([]);
  });
});

it("docs/emulator.md says what it knows of flavors and addresses", async () => {
  const { call, emulator, advance } = await open();
  const body = { ...instanceBody(emulator.addProject().id), public_ip: "auto" };
  expect((await call("POST", "/v1/instances", { ...body, flavor: "made up just now" })).status).toBe(202);
  for (const flavor of ["unknown-1", "nope"])
    expect((await call("POST", "/v1/instances", { ...body, flavor })).status).toBe(422);
  advance(1000);
  expect([...emulator.instances.values()].map(({ address }) => address)).toEqual(["203.0.113.1"]);
});
