import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parseDuration } from "../../src/diagnostics/durations";
import { CloudInfraError } from "../../src/diagnostics/error";
import type { Pause } from "../../src/polling/backoff";
import { formatProgress } from "../../src/provider/progress/progress";
import { complaints } from "../harness/compiler";
import { REPOSITORY } from "../harness/modules";
import { fenced, quoted, readMarkdown, relativeLinks, section, tableRows } from "./markdown";
import { newcomersFolder } from "./program-folder";

const pages = readdirSync(path.join(REPOSITORY, "docs")).filter((file) => file.endsWith(".md"));
const settings = tableRows(section(readMarkdown("README.md"), "Settings")).map(([name = ""]) =>
  quoted(name).join(),
);
const waiting = readMarkdown("docs/waiting.md");

describe.each(pages)("docs/%s", (file) => {
  const text = readMarkdown(`docs/${file}`);

  it("links to files and headings that exist", () => {
    const anchors = (page: string): string[] =>
      [...readMarkdown(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
        heading
          .toLowerCase()
          .replace(/[^\w\- ]/g, "")
          .replaceAll(" ", "-"),
      );
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link]) => link ?? []);
    for (const link of links.filter((one) => !/^\w+:/.test(one))) {
      const [target = "", anchor] = link.split("#");
      const page = path.posix.join("docs", target || file);
      expect(existsSync(path.join(REPOSITORY, page)), link).toBe(true);
      if (anchor !== undefined) expect(anchors(page), link).toContain(anchor);
    }
  });

  it("names only settings that exist", () => {
    const named = [...text.matchAll(/\bcloudinfra:([a-z]\w+)/g)].map(([, name]) => name);
    expect(named.filter((name) => !settings.includes(name ?? ""))).toEqual([]);
  });

  it("is in the index, by its task", () => {
    if (file !== "README.md") expect(relativeLinks(readMarkdown("docs/README.md"))).toContain(file);
  });
});

describe("docs/waiting.md", () => {
  it("shows rows as they are", () => {
    const unavailable = new CloudInfraError("unavailable", "503", { status: 503 });
    const down: Pause = { for: "next try", after: unavailable, at: 8_000 };
    const slowed: Pause = { for: "turn", isSlowed: () => true };
    const waits = (text: string) => [{ for: text }];
    const seconds = (count: number) => ({ nowMs: 0, elapsedMs: count * 1_000, waits: [] });
    const atMs = 0;
    expect(tableRows(section(waiting, "Rows")).map(([row = ""]) => quoted(row).join())).toEqual(
      [
        { verb: "creating", ...seconds(9), step: { progress: 0.42, remainingMs: 18_000, atMs } },
        { verb: "creating", ...seconds(9), step: { progress: 0.42, remainingMs: 18_000, atMs: -9_000 } },
        { verb: "creating", ...seconds(42) },
        { verb: "creating", ...seconds(9), step: { progress: 0.3, pause: down, atMs } },
        {
          verb: "deleting",
          ...seconds(40),
          waits: waits("waiting for confirmation"),
        },
        {
          verb: "deleting",
          ...seconds(4),
          waits: waits("cleaning up unfinished instances"),
          step: { progress: 0.1, atMs },
        },
        { verb: "updating", ...seconds(3), waits: waits("waiting for confirmation") },
        { verb: "reading", ...seconds(14), waits: waits("listing instances (page 12)") },
        { verb: "reading", ...seconds(9), pause: slowed },
      ].map(formatProgress),
    );
  });

  it("has a program that is right, with durations that are", async () => {
    const [program = ""] = fenced(waiting, "ts");
    expect(await complaints(newcomersFolder(program))).toBe("");
    const durations = [...program.matchAll(/(?:create|update|delete): "(.*?)"/g)].map(
      ([, text = ""]) => text,
    );
    const [, setting = ""] = /operationTimeout (\S+)$/m.exec(fenced(waiting, "sh").join("\n")) ?? [];
    expect([...durations, setting].map(parseDuration)).toEqual([5_400_000, 1_200_000, 600_000, 2_700_000]);
  });
});
