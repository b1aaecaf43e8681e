import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Answer, type Service, startService } from "../api/service";
import { creating, INSTANCE as INSTANCE_TYPE, instanceInputs, resource } from "./exports";
import { type Ended, runCli } from "./run-cli";
import { machine } from "./run-recover";

const INSTANCE = { id: 7, project: 101, name: "web", image: "debian-13", flavor: "small", network: "n1" };

interface Setting {
  readonly instances?: readonly Record<string, unknown>[];
  /** Resources of the stack. */
  readonly resources?: readonly Record<string, unknown>[];
  /** Pulumi's list of pending operations. */
  readonly pending?: readonly Record<string, unknown>[];
  /** Settings of the stack in addition to the endpoint. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly answer?: (path: string) => Answer | undefined;
}

const PROJECTS = [
  { id: 101, name: "shop", region: "eu-1" },
  { id: 102, name: "blog", region: "eu-1" },
];

/** Creates a program's folder, and a service with two projects, whose ids are numbers. */
async function imported({
  instances = [INSTANCE],
  resources = [],
  pending = [],
  settings = { token: "token-1" },
  answer = () => undefined,
}: Setting) {
  const { dir } = machine();
  const service: Service = await startService(({ path }) => {
    const items = path.endsWith("/projects") ? PROJECTS : instances;
    const list = { body: { items, has_more: false, next_cursor: null } };
    return answer(path) ?? (/s$/.test(path) ? list : { status: 404 });
  });
  const config = { endpoint: service.origin, ...settings };
  const values = Object.entries(config).map(([name, value]) => [`cloudinfra:${name}`, { value }]);
  const bin = path.join(dir, "bin");
  mkdirSync(bin);
  const pulumi = path.join(bin, "pulumi");
  const deployment = { resources, pending_operations: pending };
  const printed = { config: Object.fromEntries(values), stack: { version: 3, deployment } };
  writeFileSync(
    pulumi,
    `#!${process.execPath}\nconsole.log(JSON.stringify(${JSON.stringify(printed)}[process.argv[2]]));`,
  );
  chmodSync(pulumi, 0o755);
  const env = { PATH: `${bin}${path.delimiter}/usr/bin${path.delimiter}/bin` };
  const run = (args: readonly string[], cwd = dir): Promise<Ended> =>
    runCli(cwd, ["import", "--project", "101", ...args], env);
  return { dir, service, run, text: (file = "imported.ts") => readFileSync(path.join(dir, file), "utf8") };
}

describe("`import`", () => {
  it("finds a project and instances whose ids are numbers", async () => {
    const { run, text } = await imported({});
    expect(await run(["--with-project"])).toMatchObject({ code: 0, stderr: "" });
    expect(text()).toContain("project: project.id,");
    expect(JSON.parse(text("import.json")).resources).toMatchObject([
      { id: "101" },
      { id: "7", inputs: { project: "101" } },
    ]);
  });

  it("prints the result as JSON with --json", async () => {
    const labels = { "a b": "x" };
    const { dir, run } = await imported({
      instances: [
        { ...INSTANCE, labels },
        { ...INSTANCE, id: 8, flavor: "" },
      ],
    });
    const { code, stdout, stderr } = await run(["--json"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({
      document: path.join(dir, "import.json"),
      program: path.join(dir, "imported.ts"),
      resources: [
        { type: "Instance", name: "web", id: "7", inexpressible: [expect.stringContaining('labels["a b"]')] },
      ],
      omitted: [{ kind: "instance", id: "8", reason: "the service returned no flavor" }],
      importCommand: "pulumi import --file import.json --generate-code=false",
    });
    const { run: runEmpty } = await imported({ instances: [] });
    expect(JSON.parse((await runEmpty(["--json"])).stdout)).toEqual({
      ...{ document: null, program: null, resources: [], omitted: [], importCommand: null },
    });
  });

  it("prints no control characters from the id of an omitted instance", async () => {
    const { run } = await imported({ instances: [{ ...INSTANCE, id: "9\u001b]0;owned\u0007", flavor: "" }] });
    expect((await run([])).stderr).toContain("instance 9 is omitted: the service returned no flavor\n");
  });

  it("omits instances of other projects that the service returns anyway, and those that can't be declared", async () => {
    const others = [
      { ...INSTANCE, id: 8, project: 102 },
      { ...INSTANCE, id: 10, project: "blog" },
      { ...INSTANCE, id: 11, project: "/v1/projects/102" },
      { ...INSTANCE, id: 9, project: null, flavor: "" },
    ];
    const { run, text } = await imported({ instances: [INSTANCE, ...others] });
    const { code, stderr } = await run([]);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: "instance 9 is omitted: the service returned no flavor\n",
    });
    expect(JSON.parse(text("import.json")).resources.map(({ id }: { id: string }) => id)).toEqual(["7"]);
    expect(text()).toContain("// instance 9 is omitted: the service returned no flavor");
  });

  it("omits deleted instances, and objects that the stack already manages", async () => {
    const urn = (type: string, name: string) =>
      `urn:pulumi:dev::app::pulumi-nodejs:dynamic/cloudinfra:${type}::${name}`;
    const instance = (id: string, name: string, more = {}) => ({
      ...{ urn: urn("Instance", name), type: "pulumi-nodejs:dynamic/cloudinfra:Instance", id },
      ...more,
    });
    const { run, text } = await imported({
      instances: [
        { ...INSTANCE, status: "TERMINATED" },
        ...["8", 9, 10, "/v1/instances/a%2D1"].map((id) => ({ ...INSTANCE, id })),
      ],
      resources: [
        instance("A-1", "listed-in-another-form"),
        { ...instance("101", "shop"), urn: urn("Project", "shop") },
        instance("8", "managed"),
        instance("9", "read", { external: true }),
        instance("10", "web", { outputs: { __endpoint: "https://elsewhere.example.com/v1" } }),
      ],
    });
    const { code, stderr } = await run(["--with-project"]);
    expect({ code, stderr: stderr.trim().split("\n") }).toEqual({
      code: 0,
      stderr: [
        "project 101 is omitted: the stack already manages it",
        "instance 7 is omitted: it was deleted: its status is TERMINATED",
        "instance 8 is omitted: the stack already manages it",
        "instance /v1/instances/a%2D1 is omitted: the stack already manages it",
      ],
    });
    expect(text()).toContain("// instance 8 is omitted: the stack already manages it");
    // The name "web" is taken in the stack.
    expect(JSON.parse(text("import.json")).resources).toMatchObject([
      { id: "9", name: "web-9" },
      { id: "10", name: "web-10" },
    ]);
  });

  it("writes nothing if the stack has an unfinished creation, because its object may already exist", async () => {
    const { dir, run, service } = await imported({
      pending: [creating(resource(INSTANCE_TYPE, "web", instanceInputs()))],
    });
    const { code, stderr } = await run([]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /the stack has an unfinished creation: instance "web"\n.*code conflict\n.*Run `pulumi up`, which resumes the creation/,
    );
    expect(service.seen).toEqual([]);
    expect(existsSync(path.join(dir, "import.json"))).toBe(false);
  });

  it.each<[string, unknown, unknown, unknown]>([
    ["as a path", "/v1/projects/101", undefined, "/v1/projects/101"],
    ["as its name", "shop", undefined, "shop"],
    ["with a prefix", "prj-101", undefined, "prj-101"],
    ["as a URN", "urn:cis:project:101", undefined, "urn:cis:project:101"],
    ["as a path in the reply to GET", null, "/v1/projects/101", "/v1/projects/101"],
    ["by its name", { name: "shop" }, undefined, "shop"],
    ["by its UUID", null, { kind: "project", name: "shop", uuid: "8a1c" }, "8a1c"],
    ["as a link", null, { href: "/v1/projects/101" }, { href: "/v1/projects/101" }],
  ])(
    "declares the given project if the service returns it %s, and records the remote value",
    async (_, listed, alone, word) => {
      const { run, text } = await imported({
        instances: [{ ...INSTANCE, project: listed }],
        answer: (path) =>
          path.endsWith("/7") && alone !== undefined ? { body: { ...INSTANCE, project: alone } } : undefined,
      });
      expect(await run([])).toMatchObject({ code: 0, stderr: "" });
      expect(text()).toContain('project: "101",');
      const [{ inputs, outputs }] = JSON.parse(text("import.json")).resources;
      expect([inputs.project, outputs.project]).toEqual(["101", "101"]);
      // Otherwise, a refresh would report drift.
      expect(outputs.__words.project).toEqual(word);
    },
  );

  it("omits an instance whose own reply shows another project", async () => {
    const { run } = await imported({
      instances: [{ ...INSTANCE, project: null }],
      answer: (path) => (path.endsWith("/7") ? { body: { ...INSTANCE, project: 102 } } : undefined),
    });
    expect(await run([])).toMatchObject({ code: 0, stdout: expect.stringContaining("No file was written") });
  });

  it.each(["org/shop", "/v1/projects/org/shop"])(
    'finds the instances of a project whose id contains "/", even as %s',
    async (project) => {
      const { run, text } = await imported({
        instances: [{ ...INSTANCE, project }],
        answer: (path) =>
          path.endsWith("/projects")
            ? { body: { items: [{ id: "org/shop", name: "shop", region: "eu-1" }], has_more: false } }
            : undefined,
      });
      expect(await run(["--project", "org/shop"])).toMatchObject({ code: 0, stderr: "" });
      expect(text()).toContain('project: "org/shop",');
    },
  );

  it("declares the values of the reply to GET, which a refresh uses, too", async () => {
    const { run, text } = await imported({
      instances: [{ ...INSTANCE, labels: {}, ssh_keys: [], public_ip: "none" }],
      answer: (path) => (path.endsWith("/7") ? { body: { ...INSTANCE, image: "sha256:1f" } } : undefined),
    });
    expect(await run([])).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(text("import.json")).resources).toMatchObject([{ inputs: { image: "sha256:1f" } }]);
  });

  it("declares the values of the list if the token may not read single instances", async () => {
    const { run, text } = await imported({
      answer: (path) => (path.endsWith("/7") ? { status: 403 } : undefined),
    });
    expect(await run([])).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(text("import.json")).resources).toMatchObject([{ inputs: { image: "debian-13" } }]);
  });

  it("declares references as ids, if the service returns them as objects", async () => {
    const references = { project: { id: 101 }, image: { id: "debian-13", name: "Debian" } };
    const { run, text } = await imported({ instances: [{ ...INSTANCE, ...references }] });
    expect(await run([])).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(text("import.json")).resources).toMatchObject([
      { inputs: { project: "101", image: "debian-13" } },
    ]);
  });

  it("reads an instance with GET if its list item lacks arguments", async () => {
    const more = { flavor: "small", labels: { team: "x" }, ssh_keys: ["ssh-rsa AAAA a"], public_ip: "auto" };
    const { flavor: _, ...item } = INSTANCE;
    const { run, text } = await imported({
      instances: [item, { ...INSTANCE, ...more, id: 8 }],
      answer: (path) => (path.endsWith("/7") ? { body: { ...item, ...more } } : undefined),
    });
    expect(await run([])).toMatchObject({ code: 0, stderr: "" });
    const { public_ip: publicIp, ssh_keys: sshKeys, ...others } = more;
    expect(JSON.parse(text("import.json")).resources[0]).toMatchObject({
      id: "7",
      inputs: { ...others, publicIp, sshKeys },
    });
  });

  it("sends few GET requests if the service doesn't offer GET", async () => {
    const instances = Array.from({ length: 60 }, (_, id) => ({ ...INSTANCE, id }));
    const { run, text, service } = await imported({ instances });
    expect(await run([])).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(text("import.json")).resources).toHaveLength(60);
    expect(service.seen.length).toBeLessThan(20);
  });

  it.each([
    ["no instances", []],
    ["no instance that can be declared", [{ ...INSTANCE, flavor: null }]],
  ])("writes no file if the project has %s", async (_, instances) => {
    const { dir, run } = await imported({ instances });
    const { code, stdout } = await run([]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "Project 101 has no instances to import. No file was written.\n",
    });
    expect(existsSync(path.join(dir, "import.json"))).toBe(false);
  });

  it.each([
    ["the folder of Pulumi.yaml", "", "."],
    ["the folder of `main`", "main: src/index.ts\n", "src"],
  ])(
    "resolves paths in the settings from the program's folder, whatever the working directory: %s",
    async (_, main, folder) => {
      const { dir, run, service } = await imported({ settings: { tokenFile: "secrets/token" } });
      writeFileSync(path.join(dir, "Pulumi.yaml"), `name: app\nruntime: nodejs\n${main}`);
      mkdirSync(path.join(dir, folder, "secrets"), { recursive: true });
      writeFileSync(path.join(dir, folder, "secrets/token"), "token-of-file\n");
      writeFileSync(path.join(dir, folder, "index.ts"), "");
      const { code, stderr, stdout } = await run(["-C", dir], "/");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(service.seen[0]?.headers.authorization).toBe("Bearer token-of-file");
      expect(existsSync(path.join(dir, "imported.ts"))).toBe(true);
      expect(stdout).toContain(`pulumi import --file import.json --generate-code=false --cwd ${dir}\n`);
    },
  );

  it("runs a token command in the program's folder", async () => {
    const { dir, run, service } = await imported({ settings: { tokenCommand: "cat token" } });
    writeFileSync(path.join(dir, "token"), "token-of-command");
    expect(await run(["-C", dir], "/")).toMatchObject({ code: 0 });
    expect(service.seen[0]?.headers.authorization).toBe("Bearer token-of-command");
  });

  it("reports after a timeout how to wait longer", async () => {
    const busy = { status: 503, headers: { "retry-after": "7200" } };
    const { run } = await imported({ answer: () => busy });
    const { code, stderr } = await run([]);
    expect(code).toBe(1);
    expect(stderr).toContain("code timeout");
    expect(stderr).toMatch(
      /hint: Run the command again\. To wait longer, increase `cloudinfra:operationTimeout`\.$/m,
    );
  });

  it("sends no request if it can't write the files", async () => {
    const { dir, run, service, text } = await imported({});
    writeFileSync(path.join(dir, "imported.ts"), "mine");
    const { code, stderr } = await run([]);
    expect(code).toBe(1);
    expect(stderr).toContain(`${path.join(dir, "imported.ts")} already exists`);
    expect(stderr).toContain("--force");
    expect(text()).toBe("mine");
    expect(service.seen).toEqual([]);
    expect(existsSync(path.join(dir, "import.json"))).toBe(false);
    expect(await run(["--force"])).toMatchObject({ code: 0 });
    expect(text()).toContain("new Instance");
  });

  it("writes neither file if the folder of one doesn't exist, so that the corrected command succeeds", async () => {
    const { dir, run, service } = await imported({});
    const { code, stderr } = await run(["--program", "none/imported.ts"]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("none/imported.ts") });
    expect(service.seen).toEqual([]);
    expect(existsSync(path.join(dir, "import.json"))).toBe(false);
    expect(await run([])).toMatchObject({ code: 0 });
  });

  it("doesn't follow a link to a file that doesn't exist yet", async () => {
    const { dir, run } = await imported({});
    symlinkSync(path.join(dir, "elsewhere"), path.join(dir, "imported.ts"));
    const { code, stderr } = await run([]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("already exists") });
    expect(existsSync(path.join(dir, "elsewhere"))).toBe(false);
  });

  it("never prints the token, even if the service repeats it", async () => {
    const token = "token-1-abcdefgh";
    const { run } = await imported({
      settings: { token },
      answer: (path) =>
        path.endsWith("/instances")
          ? { status: 400, body: { detail: `the token ${token} is wrong` } }
          : undefined,
    });
    const { code, stderr } = await run([]);
    expect(code).toBe(1);
    expect(stderr).toContain("importing the instances of project 101");
    expect(stderr).not.toContain(token);
  });

  it("never prints a part of a reply that is not HTTP", async () => {
    const leaked = "password-of-an-instance";
    const server = createServer((socket) => {
      socket.on("error", () => socket.destroy());
      socket.once("data", () => socket.end(`HTTP/1.1 401 No\r\ntransfer-encoding: chunked\r\n\r\n${leaked}`));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const { run } = await imported({
      settings: { endpoint: `http://127.0.0.1:${address.port}`, token: "t", operationTimeout: "1s" },
    });
    const { code, stderr } = await run([]);
    expect(code).toBe(1);
    expect(stderr).not.toContain(leaked);
  });
});

describe.each([
  ["import", ["--project", "101"]],
  ["recover", []],
])("`%s` reports that something is missing:", (command, args) => {
  it("the folder, rather than `pulumi`", async () => {
    const { dir } = machine();
    const wrong = path.join(dir, "no-such-folder");
    const { code, stderr } = await runCli("/", [command, ...args, "-C", wrong], { PATH: "/nowhere" });
    expect(code).toBe(1);
    expect(stderr).toContain(`the folder ${wrong} doesn't exist`);
  });

  it("the project file", async () => {
    const { code, stderr } = await runCli("/", [command, ...args], { PATH: "/nowhere" });
    expect(code).toBe(1);
    expect(stderr).toContain("no Pulumi.yaml found in / or its parent folders");
  });

  it("`pulumi`", async () => {
    const { code, stderr } = await runCli(machine().dir, [command, ...args], { PATH: "/nowhere" });
    expect(code).toBe(1);
    expect(stderr).toContain("`pulumi` was not found on the PATH");
  });

  it("permission to run `pulumi`", async () => {
    const { dir } = machine();
    mkdirSync(path.join(dir, "bin"));
    writeFileSync(path.join(dir, "bin/pulumi"), "");
    const { code, stderr } = await runCli(dir, [command, ...args], { PATH: path.join(dir, "bin") });
    expect(code).toBe(1);
    expect(stderr).toMatch(/`pulumi .*` can't be run: .*EACCES/);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});
