import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { notesOf } from "../../release/notes";
import { REPOSITORY } from "../harness/modules";
import { readMarkdown } from "../readme/markdown";

const manifest: { version: string } = JSON.parse(readMarkdown("package.json"));
const changelog = readMarkdown("CHANGELOG.md");
const repository = { type: "git", url: "https://example.com/one" };
const released = changelog.replace("## Unreleased: ", "## ");

describe("a release", () => {
  it("has notes from its section of the changelog only", () => {
    const both = released.replace("\n## ", "\n## 9.0.0 (2030-01-01)\n\n- Later.\n\n## ");
    const notes = notesOf(`v${manifest.version}`, { ...manifest, repository }, both);
    expect(notes).toMatch(/^This is the initial release\.\n\n- /);
    expect(notes).not.toContain("Later");
    expect(notesOf("v9.0.0", { version: "9.0.0", repository }, both)).toBe("- Later.\n");
  });

  it.each([
    ["v9.9.9", { ...manifest, repository }, released, /the tag is v9\.9\.9, but package\.json has/],
    [`v${manifest.version}`, manifest, released, /names no repository/],
    ["v8.0.0-rc.1", { version: "8.0.0-rc.1", repository }, released, /is a prerelease/],
    ["v8.0.0", { version: "8.0.0", repository }, released, /no section "## 8\.0\.0"/],
    ["v8.0.0", { version: "8.0.0", repository }, "## Unreleased: 8.0.0\n\n- One.\n", /no section/],
    [
      "v8.0.0",
      { version: "8.0.0", repository },
      "## 8.0.0\n\n## 7.0.0\n\n- One.\n",
      /an empty section for 8\.0\.0/,
    ],
  ])("is rejected with a reason: %s", (tag, of, text, words) => {
    expect(() => notesOf(tag, of, text)).toThrow(words);
  });

  it("fails in the workflow if the tag names another version", () => {
    const run = () =>
      execFileSync(process.execPath, ["--import", "tsx", "release/main.ts", "v0.0.0"], {
        cwd: REPOSITORY,
        stdio: "pipe",
      });
    expect(run).toThrow(/the tag is v0\.0\.0/);
  });
});

it("the changelog starts with the version in package.json", () => {
  const [, first] = /^## (?:Unreleased: )?(\S+)/m.exec(changelog) ?? [];
  expect(first).toBe(manifest.version);
});
