import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseImportArgs } from "../../../src/cli/import/args";
import { variableName } from "../../../src/config/setting-values";
import { readSettings } from "../../../src/config/settings";
import { complaints } from "../../harness/compiler";
import { fenced, quoted, readMarkdown, relativeLinks, section, tableRows } from "../../readme/markdown";
import { newcomersFolder } from "../../readme/program-folder";
import { settings } from "../../readme/tables";

const page = readMarkdown("docs/credentials.md");
const known = settings().map(({ name }) => ({ name, variable: variableName(name) }));

/** What the commands of a part set, as a stack would have it. */
function settingsOf(text: string): Record<string, string> {
  const commands = fenced(text, "sh").join("\n");
  const set = [
    ...commands.matchAll(/pulumi config set (?:--secret |--plaintext )?(cloudinfra:\w+)(?: ("?)(.+)\2)?$/gm),
  ];
  return Object.fromEntries(set.map(([, key = "", , value = "prompted"]) => [key, value]));
}

const sourceOf = (stack: Record<string, string>, environment: Record<string, string> = {}) =>
  readSettings((key) => ({ "cloudinfra:endpoint": "https://api.example.com", ...stack })[key], environment)
    .token;

describe("docs/credentials.md", () => {
  it("names only settings and variables that exist, and each that is about tokens", () => {
    const named = page.match(/\bcloudinfra:[a-z]\w+|\bCLOUDINFRA_\w+/g) ?? [];
    const names = known.flatMap(({ name, variable }) => [`cloudinfra:${name}`, variable]);
    expect(named.filter((name) => !names.includes(name))).toEqual([]);
    const about = known.map(({ name }) => name).filter((name) => /^(token|oidc|caFile)/.test(name));
    expect(about.filter((name) => !page.includes(name))).toEqual([]);
  });

  it.each([
    ["A personal token", "token"],
    ["A file", "tokenFile"],
    ["A command", "tokenCommand"],
  ])("%s is set as it says", (heading, kind) => {
    expect(sourceOf(settingsOf(section(page, heading)))).toMatchObject({ kind });
  });

  it("says of each value with a name like a secret's whether it is one: otherwise, the CLI may refuse it", () => {
    const commands = page.match(/pulumi config set .*(?:token|secret).*/gi) ?? [];
    expect(commands.filter((command) => !/--(?:secret|plaintext) /.test(command))).toEqual([]);
    expect(commands.length).toBeGreaterThan(3);
  });

  const [workflow, pod] = fenced(page, "yaml").map((text): unknown => parse(text));
  const [inActions = "", inKubernetes = ""] = page.split("### ").slice(1);

  it("has a workflow for GitHub that may ask for a token, and its settings", () => {
    expect(workflow).toMatchObject({
      permissions: { "id-token": "write" },
      jobs: { up: { steps: expect.any(Array) } },
    });
    const found = sourceOf(settingsOf(inActions));
    expect(found).toMatchObject({ subject: { kind: "github" }, subjectAudience: "https://api.example.com" });
  });

  it("has a pod with a projected token, and its settings", () => {
    expect(inKubernetes).toContain("projected token");
    const [container] = Object(pod).spec.containers;
    const env = Object.fromEntries(
      container.env.map(({ name, value }: Record<string, string>) => [name, value]),
    );
    const [mount] = container.volumeMounts;
    const [source] = Object(pod).spec.volumes[0].projected.sources;
    const file = `${mount.mountPath}/${source.serviceAccountToken.path}`;
    expect(sourceOf({}, env)).toMatchObject({
      kind: "oidcTokenEndpoint",
      subject: { kind: "file", path: file },
    });
  });

  it("quotes messages that exist", () => {
    const sources = [
      "settings",
      "setting-values",
      "token-settings",
      "oidc-subject",
      "oidc-http",
      "oidc-exchange",
      "token-command",
      "token-file",
    ];
    const code = [
      ...sources.map((name) => `src/config/${name}.ts`),
      "src/api/errors.ts",
      "src/diagnostics/hints.ts",
    ]
      .map(readMarkdown)
      .join();
    const messages = tableRows(section(page, "What goes wrong")).flatMap(([cell = ""]) => quoted(cell));
    expect(messages.length).toBeGreaterThan(5);
    const inCode = (message: string): string =>
      message
        .replace("cloudinfra:token is", `cloudinfra:\${name} is`)
        .replace(/^(rejected the request: )\w+/, "$1")
        .replace(/^(the token command, set by ).*/, "$1");
    expect(messages.filter((message) => !code.includes(inCode(message)))).toEqual([]);
  });

  const providersPart = section(page, "Several accounts or regions");

  it("has a program with an explicit provider that compiles", async () => {
    expect(await complaints(newcomersFolder(fenced(providersPart, "ts").join()))).toBe("");
  });

  it("names a way to call `import` that it takes", () => {
    const [, args = ""] = /`npx pulumi-cloudinfra import (.+?)`/.exec(providersPart) ?? [];
    expect(parseImportArgs(["--project", "p", ...args.split(" ")])).toMatchObject({ provider: "eu" });
  });

  it("leads to parts of itself that are there", () => {
    const anchors = [...page.matchAll(/\]\(#([\w-]+)\)/g)].map(([, anchor]) => anchor);
    const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) =>
      text
        .toLowerCase()
        .replace(/[^\w\s-]/g, "")
        .replaceAll(" ", "-"),
    );
    expect(anchors.length).toBeGreaterThan(3);
    expect(anchors.filter((anchor) => !headings.includes(anchor ?? ""))).toEqual([]);
    expect(relativeLinks(page).filter((link) => link !== "")).toEqual([]);
  });
});
