import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Door } from "./fixtures/door";
import { ProgramFolder } from "./fixtures/program";
import { FakeStack } from "./stack";

const thing = (name: string) => ({ name, args: { name, image: "u1", flavor: "small" } });
const urn = "urn:pulumi:dev::rec::pulumi-nodejs:dynamic/rec:Thing::a";

let program: ProgramFolder;
let door: Door;
const stacks: FakeStack[] = [];

beforeEach(async () => {
  program = new ProgramFolder("recorded");
  door = await Door.open();
});

afterEach(async () => {
  for (const stack of stacks.splice(0)) await stack.dispose();
  door.close();
  program.remove();
});

function open(stateFile: string): FakeStack {
  const stack = new FakeStack({ dir: program.dir, project: "rec", stack: "dev", stateFile });
  stacks.push(stack);
  return stack;
}

describe("an interrupted command", () => {
  test("finishes and saves running operations, starts no new ones, and deletes nothing", async () => {
    const stack = open(path.join(program.dir, "state.json"));
    program.writeJson("spec.json", [thing("removed")]);
    await stack.run("up");
    program.takeCalls();
    program.writeJson("spec.json", [thing("a"), { ...thing("b"), opts: { dependsOn: ["a"] } }]);
    program.writeJson("behave.json", { a: { create: { door: door.port } } });
    const ctrlC = new AbortController();
    const running = stack.run("up", { signal: ctrlC.signal });
    const visitor = await door.nextVisitor();
    ctrlC.abort();
    visitor.letIn();
    const result = await running;
    const { resources = [], pending_operations } = await stack.deployment();
    expect(result.ok).toBe(false);
    expect(result.output).toContain("update canceled");
    expect(program.takeCalls().map((call) => call.call)).toEqual(["check", "create"]);
    expect(resources.find((resource) => resource.urn === urn)?.id).toBe("i-2");
    expect(resources.find((resource) => resource.urn.endsWith("::removed"))?.id).toBe("i-1");
    expect(pending_operations).toBeUndefined();
  });

  test("ends when the stack is closed", async () => {
    program.writeJson("spec.json", [thing("a")]);
    program.writeJson("behave.json", { a: { create: { door: door.port } } });
    const stack = open(path.join(program.dir, "state.json"));
    const running = stack.run("up");
    const visitor = await door.nextVisitor();
    const disposed = stack.dispose();
    visitor.letIn();
    await disposed;
    expect((await running).ok).toBe(false);
    expect(isRunning(visitor.pid)).toBe(false);
  });
});

describe("an engine that is killed during a create", () => {
  test("leaves the checked inputs as a pending operation, and every later up warns about it", async () => {
    const stateFile = path.join(program.dir, "state.json");
    program.writeJson("spec.json", [thing("a")]);
    program.writeJson("behave.json", { a: { create: { door: door.port } } });
    const engine = spawn(
      process.execPath,
      [
        ...[
          path.join(__dirname, "../../node_modules/tsx/dist/cli.mjs"),
          path.join(__dirname, "main.ts"),
          "up",
        ],
        ...["--dir", program.dir, "--stack", "dev", "--state", stateFile],
      ],
      { detached: true, stdio: "ignore" },
    );
    const visitor = await door.nextVisitor();
    process.kill(-Number(engine.pid), "SIGKILL");
    await once(engine, "exit");
    expect(isRunning(visitor.pid)).toBe(true);
    process.kill(visitor.pid, "SIGKILL");

    const stack = open(stateFile);
    const pending = (await stack.deployment()).pending_operations;
    expect(pending).toEqual([
      {
        type: "creating",
        resource: expect.objectContaining({
          urn,
          inputs: expect.objectContaining({ __urn: urn, flavor: "small" }),
        }),
      },
    ]);
    program.writeJson("behave.json", {});
    for (const command of ["up", "up", "refresh"] as const) {
      const result = await stack.run(command);
      expect(result.ok, result.output).toBe(true);
      const warnings = result.diagnostics.filter((d) => d.severity === "warning").map((d) => d.message);
      expect(warnings).toEqual(
        command === "up" ? [expect.stringContaining(`${urn}, interrupted while creating`)] : [],
      );
      expect((await stack.deployment()).pending_operations).toEqual(pending);
    }
    expect(program.takeCalls().filter((call) => call.call === "create")).toHaveLength(2);
    expect(fs.readdirSync(program.dir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
