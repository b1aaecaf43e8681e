import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { settings } from "../../src/config/settings";
import { fenced, quoted, readMarkdown, relativeLinks } from "../readme/markdown";
import { parseCommandLine } from "./command-line";

const page = readMarkdown("docs/recovery.md");

describe("docs/recovery.md", () => {
  it("shows only valid calls of `recover`", async () => {
    const blocks = [...fenced(page, "sh"), ...fenced(page, "yaml")].join("\n");
    const calls = [...blocks.matchAll(/npx pulumi-cloudinfra recover([^\n#]*)/g)].map(([, args = ""]) =>
      args.trim(),
    );
    const named = quoted(page).flatMap((text) => /^recover (--.*)/.exec(text)?.[1] ?? []);
    expect(calls.length + named.length).toBeGreaterThan(3);
    for (const call of [...calls, ...named]) {
      expect(await parseCommandLine("recover", ...call.split(" ").filter(Boolean)), call).toHaveProperty(
        "options",
      );
    }
  });

  it("runs `recover` before `up`, for the same stack, in CI", () => {
    const steps: unknown = parse(fenced(page, "yaml").join(""));
    expect(steps).toEqual([
      expect.objectContaining({ run: "npx pulumi-cloudinfra recover --stack prod" }),
      expect.objectContaining({ run: "pulumi up --yes --stack prod" }),
    ]);
  });

  it("names only settings and messages that exist", () => {
    const known = Object.keys(settings);
    const named = [...page.matchAll(/cloudinfra:(\w+)/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
    expect(readMarkdown("src/provider/warnings.ts")).toContain("was interrupted more than 23 hours ago");
    expect(relativeLinks(page).filter((link) => link !== "")).toEqual([]);
  });
});
