import { accessSync, existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { ApiObject } from "../api/client";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { formatError } from "../diagnostics/format";
import { instanceKind, isUrnOf, projectKind } from "../model/kinds";
import { resourceName } from "../model/state";
import { type Context, listingContext } from "../provider/context";
import { Sessions } from "../provider/session";
import type { ImportOptions } from "./commands";
import { listProject, selectImportable } from "./import/inventory";
import { type Declarations, declare, describeOmission, importDocument, programText } from "./import/program";
import { commandLineFor, programFolder, stackSettings } from "./pulumi";
import { unfinishedCreations } from "./recover/creations";
import { type Deployment, readExport, type StackProvider } from "./stack-export";

/** Runs `npx pulumi-cloudinfra import`, and returns the exit code. */
export async function importInstances(options: ImportOptions): Promise<number> {
  const sessions = new Sessions(process.env);
  try {
    await writeImport(options, sessions);
    return 0;
  } catch (error) {
    if (!isCloudInfraError(error)) throw error;
    const text = formatError(error, {
      action: `importing the instances of project ${options.project}`,
      provider: options.provider,
      call: { verb: "list" },
      secrets: sessions.tokens,
    });
    console.error(text);
    return 1;
  }
}

async function writeImport(options: ImportOptions, sessions: Sessions): Promise<void> {
  const folder = programFolder(options.cwd);
  const files = filesToWrite(options);
  const [settings, stack] = await Promise.all([
    stackSettings(options.cwd, options.stack),
    readExport(options),
  ]);
  requireNoUnfinishedCreations(stack);
  const provider = options.provider === undefined ? undefined : findProvider(stack, options.provider);
  // Paths and commands in the settings start at the program's folder, which is the provider's working directory.
  process.chdir(folder);
  sessions.configure(provider?.setting ?? settings);
  const session = sessions.open();
  try {
    const { project, instances } = await listProject(session, options.project);
    const projects = options.withProject
      ? await declareAll(listingContext(projectKind, session), [project], stack)
      : { declared: [], omitted: [] };
    const contents = await declareAll(
      listingContext(instanceKind, session),
      instances,
      stack,
      options.project,
    );
    const all: Declarations = {
      declared: [...projects.declared, ...contents.declared],
      omitted: [...projects.omitted, ...contents.omitted],
    };
    if (all.declared.length > 0) {
      const texts = { document: importDocument(all.declared, provider), program: programText(all, provider) };
      await writeFiles(files, texts, options);
    }
    report(all, files, options);
  } finally {
    await session.close();
  }
}

/** @throws CloudInfraError `conflict`: the object of an unfinished creation would be imported, and created again */
function requireNoUnfinishedCreations(stack: Deployment): void {
  const unfinished = unfinishedCreations(stack);
  if (unfinished.length === 0) return;
  const what = unfinished.length === 1 ? "an unfinished creation" : "unfinished creations";
  throw new CloudInfraError("conflict", `the stack has ${what}: ${unfinished.join(", ")}`, {
    hint:
      "Run `pulumi up`, which resumes the creation, then run `import` again. On another machine, run `npx pulumi-cloudinfra recover` " +
      "before `pulumi up`. If the creation is reported again, clear Pulumi's list with the command that `recover` prints.",
  });
}

/** @throws CloudInfraError `config_missing` if the stack has no explicit provider with this name */
function findProvider({ providers }: Deployment, name: string): StackProvider {
  const found = providers.find((one) => one.name === name);
  if (found !== undefined) return found;
  const names = providers.flatMap((one) => (one.name === undefined ? [] : `"${one.name}"`));
  throw new CloudInfraError(
    "config_missing",
    `the stack has no provider "${name}". It has: ${names.join(", ") || "none"}`,
    {
      hint: "Correct the name given with --provider. If the program declares the provider, run `pulumi up` first.",
    },
  );
}

async function declareAll(
  context: Context,
  items: readonly ApiObject[],
  stack: Deployment,
  project?: string,
): Promise<Declarations> {
  const { objects, omitted } = await selectImportable(context, items, stack, project);
  const taken = stack.resources
    .filter(({ urn }) => isUrnOf(context.kind, urn))
    .flatMap(({ urn }) => resourceName(urn) ?? []);
  const declarations = declare(context, objects, { taken, given: { project } });
  return { ...declarations, omitted: [...omitted, ...declarations.omitted] };
}

function report(
  { declared, omitted }: Declarations,
  files: Files,
  { project, program, document, json, ...target }: ImportOptions,
): void {
  const isEmpty = declared.length === 0;
  const command = ["pulumi", "import", "--file", document, "--generate-code=false"];
  const importCommand = commandLineFor(command, target);
  if (json) {
    const resources = declared.map(({ type, name, id, inexpressible }) => ({
      type,
      name,
      id,
      inexpressible,
    }));
    const written = isEmpty ? { program: null, document: null } : files;
    const result = { ...written, resources, omitted, importCommand: isEmpty ? null : importCommand };
    console.log(JSON.stringify(result, null, 2));
    return;
  }
  for (const omission of omitted) console.error(describeOmission(omission));
  if (isEmpty) {
    console.log(`Project ${project} has no instances that can be imported. No file was written.`);
    return;
  }
  const count = declared.length === 1 ? "1 resource" : `${declared.length} resources`;
  console.log(`Wrote ${program} and ${document} with ${count}.`);
  if (declared.some(({ inexpressible }) => inexpressible.length > 0))
    console.log(`Comments in ${program} name the values that a program can't express.`);
  console.log(`
Next steps:
  1. Copy the content of ${program} into your program.
  2. Import the resources into the stack:
       ${importCommand}
  3. Run \`pulumi preview\`. It should show no changes.`);
}

const FILES = ["document", "program"] as const;
type Files = Readonly<Record<(typeof FILES)[number], string>>;

/**
 * Resolves the paths of the files to write.
 *
 * @throws CloudInfraError `input_invalid` if a file exists and `--force` isn't given, or if the folder of one doesn't exist
 */
function filesToWrite(options: ImportOptions): Files {
  const files = {
    document: path.resolve(options.cwd, options.document),
    program: path.resolve(options.cwd, options.program),
  };
  for (const name of FILES) {
    if (!options.force && existsSync(files[name])) throw fileExists(files[name]);
    try {
      accessSync(path.dirname(files[name]));
    } catch (cause) {
      throw notWritable(files[name], cause);
    }
  }
  return files;
}

/** @throws CloudInfraError `input_invalid` */
async function writeFiles(files: Files, texts: Files, { force }: ImportOptions): Promise<void> {
  for (const name of FILES) {
    const file = files[name];
    await writeFile(file, texts[name], { flag: force ? "w" : "wx" }).catch((cause: unknown) => {
      if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") throw fileExists(file);
      throw notWritable(file, cause);
    });
  }
}

function notWritable(file: string, cause: unknown): CloudInfraError {
  return new CloudInfraError("input_invalid", `can't write ${file}`, {
    hint: "Choose another path with --program or --document.",
    cause,
  });
}

function fileExists(file: string): CloudInfraError {
  return new CloudInfraError("input_invalid", `${file} already exists`, {
    hint: "Choose another path with --program or --document, or overwrite the file with --force.",
  });
}
