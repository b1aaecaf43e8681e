import { type Setting, type SettingName, settings, variableName } from "../../src/config/settings";
import { type Field, instanceFields, projectFields } from "../../src/model/resource-fields";
import { type Property, propertiesOf } from "./declarations";
import { statusMessages } from "./status-messages";

/** The tables that the pages contain between `<!-- table: NAME -->` and `<!-- end -->`, generated from the code. */
export const TABLES: Readonly<Record<string, () => string>> = {
  "project-arguments": () => argumentsTable(propertiesOf("project.ts", "ProjectArgs"), projectFields),
  "project-outputs": () => outputsTable(furtherOutputs("project.ts", "Project", "ProjectArgs")),
  "instance-arguments": () => argumentsTable(propertiesOf("instance.ts", "InstanceArgs"), instanceFields),
  "instance-outputs": () => outputsTable(furtherOutputs("instance.ts", "Instance", "InstanceArgs")),
  "provider-arguments": () => optionsTable(propertiesOf("provider.ts", "ProviderArgs")),
  "getInstances-arguments": () => optionsTable(propertiesOf("functions.ts", "GetInstancesArgs")),
  "getInstances-result": () => outputsTable(propertiesOf("functions.ts", "GetInstancesInstance")),
  "getProjects-result": () => outputsTable(propertiesOf("functions.ts", "GetProjectsProject")),
  "function-options": () =>
    optionsTable([
      ...propertiesOf("functions.ts", "FunctionOptions"),
      ...propertiesOf("functions.ts", "FunctionOutputOptions").map((one) => ({
        ...one,
        description: `For the \`…Output\` forms only. ${one.description}`,
      })),
    ]),
  settings: settingsTable,
  "status-messages": () =>
    table(
      ["Message", "Meaning"],
      statusMessages().map(({ message, meaning }) => [code(message), meaning]),
    ),
};

const JOURNAL_DIR = {
  description:
    "Folder for the journal of unfinished creations, relative to the program's folder. It isn't an argument of `Provider`.",
  default: "`~/.local/state/pulumi-cloudinfra/journal`",
};

function settingsTable(): string {
  const args = propertiesOf("provider.ts", "ProviderArgs");
  const rows = Object.entries<Setting>(settings).map(([name, { type }]) => {
    const documented = name === "journalDir" ? JOURNAL_DIR : args.find((one) => one.name === name);
    const description = documented?.description.replace(
      "It is always encrypted in the state.",
      "Set it with `--secret`.",
    );
    const fallback = documented?.default === undefined ? "" : ` Default: ${documented.default}.`;
    return [
      `${code(`cloudinfra:${name}`)}<br>${code(variableName(name as SettingName))}`,
      type,
      `${description}${fallback}`,
    ];
  });
  return table(["Setting and variable", "Type", "Description"], rows);
}

function argumentsTable(properties: readonly Property[], fields: readonly Field[]): string {
  const ordered = fields.map((field) => ({
    field,
    property: properties.find(({ name }) => name === field.name),
  }));
  const rows = ordered.map(({ field, property }) => [
    code(field.name),
    code(property?.type ?? ""),
    defaultOf(field, property),
    field.change === "replace" ? "replaces" : field.change,
    withoutChange(property?.description ?? ""),
  ]);
  return table(["Name", "Type", "Default", "Change", "Description"], rows);
}

function defaultOf({ argument }: Field, property: Property | undefined): string {
  if (argument === "required") return "required";
  if (argument === "generated") return "[generated](../previews.md#generated-names)";
  return property?.default ?? "";
}

/** The column "Change" already shows it. */
function withoutChange(description: string): string {
  return description.replaceAll(
    /\s*(?:A change (?:replaces|updates) the \w+(?: in place)?|Updated in place)\./g,
    "",
  );
}

function furtherOutputs(file: string, type: string, args: string): Property[] {
  const given = propertiesOf(file, args).map(({ name }) => name);
  const id = {
    name: "id",
    type: "string",
    isOptional: false,
    default: undefined,
    description: "Id that the service assigns.",
  };
  return [id, ...propertiesOf(file, type).filter(({ name }) => !given.includes(name))];
}

function outputsTable(properties: readonly Property[]): string {
  return table(
    ["Name", "Type", "Description"],
    properties.map(({ name, type, isOptional, description }) => [
      code(name),
      code(isOptional ? `${type} | undefined` : type),
      description,
    ]),
  );
}

function optionsTable(properties: readonly Property[]): string {
  return table(
    ["Name", "Type", "Default", "Description"],
    properties.map(({ name, type, default: usual, description }) => [
      code(name),
      code(type),
      usual ?? "",
      description,
    ]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows].map(
    (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`,
  );
  return lines.join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}
