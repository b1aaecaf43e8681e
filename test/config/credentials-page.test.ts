import { readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readSettings, type SettingName, settings, variableName } from "../../src/config/settings";
import { parseCommandLine } from "../cli/command-line";
import { REPOSITORY } from "../harness/modules";
import { fenced, quoted, readMarkdown, relativeLinks, section, tableRows } from "../readme/markdown";

const page = readMarkdown("docs/credentials.md");
/** The stack settings that the commands of a section set. */
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
  it("names only existing settings and variables, and all that concern tokens", () => {
    const named = page.match(/\bcloudinfra:[a-z]\w+|\bCLOUDINFRA_\w+/g) ?? [];
    const names = Object.keys(settings) as SettingName[];
    const known = names.flatMap((name) => [`cloudinfra:${name}`, variableName(name)]);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
    const about = names.filter((name) => /^(token|oidc|caFile)/.test(name));
    expect(about.filter((name) => !page.includes(name))).toEqual([]);
  });

  it.each([
    ["A Pulumi secret", "token"],
    ["A token file", "tokenFile"],
    ["A token command", "tokenCommand"],
  ])("section %s sets the source that it describes", (heading, kind) => {
    expect(sourceOf(settingsOf(section(page, heading)))).toMatchObject({ kind });
  });

  it('marks every value as a secret or as plaintext if its name contains "token" or "secret", because the CLI may reject it otherwise', () => {
    const commands = page.match(/pulumi config set .*(?:token|secret).*/gi) ?? [];
    expect(commands.filter((command) => !/--(?:secret|plaintext) /.test(command))).toEqual([]);
    expect(commands.length).toBeGreaterThan(3);
  });

  const [workflow, pipeline, pod] = fenced(page, "yaml").map((text): unknown => parse(text));
  const [, , inKubernetes = ""] = page.split("### ").slice(1);

  it("has a GitHub workflow that may request an identity token, and its settings", () => {
    expect(workflow).toMatchObject({ permissions: { "id-token": "write" } });
    const { env } = Object(workflow).jobs.up.steps.at(-1);
    expect(sourceOf({}, env)).toMatchObject({
      subject: { kind: "github" },
      subjectAudience: "https://api.example.com",
    });
  });

  it("has a GitLab job whose identity token is in the variable that its settings name", () => {
    const { id_tokens: tokens, variables } = Object(pipeline).up;
    const [name] = Object.keys(tokens);
    expect(sourceOf({}, variables)).toMatchObject({ subject: { kind: "env", name } });
  });

  it("has a Kubernetes pod whose projected token is in the file that its settings name", () => {
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

  it("quotes only messages that the code contains", () => {
    const code = [
      ...readdirSync(path.join(REPOSITORY, "src/config")).map((name) => `src/config/${name}`),
      "src/api/auth.ts",
      "src/api/outcome.ts",
      "src/diagnostics/hints.ts",
    ]
      .map(readMarkdown)
      .join();
    const messages = tableRows(section(page, "Errors")).flatMap(([cell = ""]) => quoted(cell));
    expect(messages.length).toBeGreaterThan(5);
    const inCode = (message: string): string =>
      message
        .replace("cloudinfra:token is", `cloudinfra:\${name}\${what} is`)
        .replace(/^(rejected the request: )\w+/, "$1")
        .replace(/^(the token command from ).*/, "$1");
    expect(messages.filter((message) => !code.includes(inCode(message)))).toEqual([]);
  });

  const providersPart = section(page, "Several accounts or regions");

  it("shows arguments that the `import` command accepts", async () => {
    const [, args = ""] = /`npx pulumi-cloudinfra import (.+?)`/.exec(providersPart) ?? [];
    expect(await parseCommandLine("import", "--project", "p", ...args.split(" "))).toMatchObject({
      options: { provider: "eu" },
    });
  });

  it("links only to sections that exist", () => {
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
