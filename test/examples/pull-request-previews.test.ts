import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseCommandLine } from "../cli/command-line";
import { REPOSITORY } from "../harness/modules";

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

interface Job {
  readonly if: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly concurrency: { readonly "cancel-in-progress": boolean };
  readonly "timeout-minutes": number;
  readonly steps: readonly Step[];
}

const folder = path.join(REPOSITORY, "examples/pull-request-previews");
const text = readFileSync(path.join(folder, ".github/workflows/pulumi.yml"), "utf8");
const workflow: { on: object; permissions: object; jobs: Record<"preview" | "up", Job> } = parse(text);
const { preview, up } = workflow.jobs;
const indexOf = (job: Job, isIt: (step: Step) => boolean): number => job.steps.findIndex(isIt);
const pulumi = (job: Job, command: string): number =>
  indexOf(
    job,
    ({ uses, with: inputs }) => /^pulumi\/actions@/.test(uses ?? "") && inputs?.command === command,
  );

describe("the workflow for pull requests", () => {
  it("comments a preview on pull requests of the same repository, and never runs with more than their permissions", () => {
    expect(Object.keys(workflow.on)).toEqual(["pull_request", "push"]);
    expect(text).not.toContain("pull_request_target");
    expect(preview.if).toContain("head.repo.full_name == github.repository");
    expect(preview.steps[pulumi(preview, "preview")]?.with).toMatchObject({ "comment-on-pr": true });
    expect(pulumi(preview, "up")).toBe(-1);
  });

  it("has the least permissions, and leaves no credentials in the checkout", () => {
    expect(workflow.permissions).toEqual({});
    expect(preview.permissions).toEqual({ contents: "read", "pull-requests": "write" });
    expect(up.permissions).toEqual({ contents: "read" });
    for (const job of [preview, up]) {
      const checkout = job.steps.find(({ uses }) => uses?.startsWith("actions/checkout@"));
      expect(checkout?.with).toEqual({ "persist-credentials": false });
      expect(job["timeout-minutes"]).toBeGreaterThan(0);
    }
  });

  it("passes the service's token to no job, and Pulumi's token only to the steps that need it", () => {
    expect(text).not.toMatch(/CLOUDINFRA_/);
    for (const { uses = "", run = "", env = {} } of [...preview.steps, ...up.steps])
      if (Object.keys(env).length > 0)
        expect(uses + run).toMatch(/^pulumi\/actions@|pulumi-cloudinfra recover/);
  });

  it("installs the CLI and runs `recover` before an `up` that no other run cancels", async () => {
    const recover = indexOf(up, ({ run }) => /^npx pulumi-cloudinfra recover/.test(run ?? ""));
    const installed = indexOf(
      up,
      ({ uses, with: inputs }) => /^pulumi\/actions@/.test(uses ?? "") && !inputs,
    );
    expect(installed).toBeGreaterThan(-1);
    expect(recover).toBeGreaterThan(installed);
    expect(pulumi(up, "up")).toBeGreaterThan(recover);
    expect(up.concurrency["cancel-in-progress"]).toBe(false);
    const [, , , ...args] = (up.steps[recover]?.run ?? "").replaceAll('"', "").split(" ");
    expect(await parseCommandLine("recover", ...args)).toMatchObject({ options: { stack: "$STACK" } });
  });
});
