import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { REPOSITORY } from "../harness/modules";

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly needs?: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly "timeout-minutes": number;
  readonly strategy?: { readonly matrix: { readonly node: readonly number[] } };
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: object;
  readonly concurrency?: { readonly "cancel-in-progress": boolean };
  readonly jobs: Readonly<Record<string, Job>>;
}

const textOf = (file: string): string =>
  readFileSync(path.join(REPOSITORY, ".github/workflows", file), "utf8");
const texts = { "ci.yml": textOf("ci.yml"), "release.yml": textOf("release.yml") };
const ci: Workflow = parse(texts["ci.yml"]);
const release: Workflow = parse(texts["release.yml"]);
const commandsOf = (job: Job | undefined): string[] => (job?.steps ?? []).flatMap(({ run }) => run ?? []);
const scripts: object = JSON.parse(readFileSync(path.join(REPOSITORY, "package.json"), "utf8")).scripts;

describe.each(Object.entries({ "ci.yml": ci, "release.yml": release }))("%s", (file, workflow) => {
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

  it("gives each job only its listed permissions, leaves no credentials in the checkout, and has timeouts", () => {
    expect(workflow.permissions).toEqual({});
    for (const job of Object.values(workflow.jobs)) expect(job["timeout-minutes"]).toBeGreaterThan(0);
    const checkouts = steps.filter(({ uses }) => uses?.startsWith("actions/checkout@"));
    expect(checkouts.length).toBeGreaterThan(0);
    for (const { with: inputs } of checkouts) expect(inputs).toEqual({ "persist-credentials": false });
  });

  it("uses actions with a version, and no secrets, registries, or untrusted text in commands", () => {
    const used = steps.flatMap(({ uses }) => uses ?? []);
    for (const action of used) expect(action).toMatch(/^(actions|pulumi)\/[\w-]+@v\d+$/);
    expect(texts[file as keyof typeof texts]).not.toMatch(
      /secrets\.|registry|_TOKEN: [^$]|pull_request_target/,
    );
    for (const run of steps.flatMap((step) => step.run ?? [])) expect(run).not.toContain("${{");
  });

  it("calls only scripts of package.json", () => {
    const called = steps.flatMap(({ run }) =>
      [...(run ?? "").matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, name]) => name),
    );
    expect(called).toContain("check");
    for (const name of called) expect(scripts).toHaveProperty([name ?? ""]);
  });
});

describe("the checks of each change", () => {
  it("run on both supported versions of Node, and not on the one that npm puts on the PATH", () => {
    const job = ci.jobs.test;
    expect(job?.strategy?.matrix.node).toEqual([22, 24]);
    const commands = commandsOf(job);
    expect(commands[0]).toBe("npm ci");
    expect(commands[1]).toMatch(/^rm node_modules\/\.bin\/node\b/);
    expect(commands.slice(2)).toEqual(["npm run check", "npm test", "npm run test:all"]);
    expect(job?.permissions).toEqual({ contents: "read" });
  });
});

describe("a release", () => {
  const { build, publish, announce } = release.jobs;

  it("starts with a tag, and is never canceled by another one", () => {
    expect(release.on).toEqual({ push: { tags: ["v*"] } });
    expect(release.concurrency?.["cancel-in-progress"]).toBe(false);
  });

  it("is checked and tested first, and requires that the tag, the version and the changelog match", () => {
    const commands = commandsOf(build);
    expect(commands[0]).toBe("npm ci");
    expect(commands[1]).toContain('npm run -s release:notes -- "$TAG" >');
    expect(commands.slice(2, 5)).toEqual(["npm run check", "npm test", "npm run test:all"]);
    expect(commands[5]).toMatch(/^npm pack /);
    expect(build?.permissions).toEqual({ contents: "read" });
  });

  it("is published with provenance by a job without a token or a checkout", () => {
    expect(publish?.needs).toBe("build");
    expect(publish?.permissions).toEqual({ "id-token": "write" });
    expect(commandsOf(publish)).toEqual([
      expect.stringMatching(/^npm publish --provenance --access public \.\/pulumi-cloudinfra-\*\.tgz$/),
    ]);
    expect(publish?.steps.some(({ uses }) => uses?.startsWith("actions/checkout"))).toBe(false);
  });

  it("is announced with the changelog's section after it is published", () => {
    expect(announce?.needs).toBe("publish");
    expect(announce?.permissions).toEqual({ contents: "write" });
    expect(commandsOf(announce)).toEqual([
      expect.stringMatching(/^gh release create "\$TAG" .*--notes-file notes\.md/),
    ]);
  });
});
