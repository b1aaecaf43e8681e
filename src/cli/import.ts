import type { ApiObject } from "../api/client";
import { comparableId } from "../api/objects";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { formatError } from "../diagnostics/format";
import { oneLine } from "../diagnostics/redact";
import { referencedId } from "../model/changes";
import { instanceKind, isUrnOf, projectKind } from "../model/resource-fields";
import { resourceName } from "../model/state";
import {
  type Context,
  listingContext,
  otherRecordedEndpoint,
  type Session,
  Sessions,
} from "../provider/context";
import { isDeleted } from "../provider/lookup/object-getter";
import {
  type Declarations,
  declare,
  describeOmission,
  importDocument,
  type Omission,
  programText,
} from "./import-program";
import { commandLineFor, outputFile, programFolder, stackSettings, type Target } from "./pulumi";
import { unfinishedCreations } from "./recover-creations";
import { type Deployment, explicitProvider, readExport } from "./stack-export";

export interface ImportOptions extends Target {
  readonly project: string;
  readonly withProject?: boolean;
  readonly provider?: string;
  readonly program: string;
  readonly document: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

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
  const output = (file: string) => outputFile(file, { ...options, option: "--program or --document" });
  const [document, program] = [output(options.document), output(options.program)];
  const [settings, stack] = await Promise.all([stackSettings(options), readExport(options)]);
  requireNoUnfinishedCreations(stack);
  const provider = options.provider === undefined ? undefined : explicitProvider(stack, options.provider);
  // Paths and commands in the settings are relative to the program's folder.
  process.chdir(folder);
  sessions.configureOutside(provider?.setting ?? settings);
  const session = sessions.open();
  const { project, instances, isElsewhere } = await listProject(session, options.project);
  const projects = options.withProject ? [project] : [];
  const parts = [
    await declareAll(listingContext(projectKind, session), projects, stack),
    await declareAll(listingContext(instanceKind, session), instances, stack, {
      project: options.project,
      isElsewhere,
    }),
  ];
  const all: Declarations = {
    declared: parts.flatMap(({ declared }) => declared),
    omitted: parts.flatMap(({ omitted }) => omitted),
  };
  if (all.declared.length > 0) {
    await document.write(importDocument(all.declared, provider));
    await program.write(programText(all, provider));
  }
  report(all, { program: program.path, document: document.path }, options);
}

/** @throws CloudInfraError `conflict` if the stack has unfinished creations, because the import could include their objects */
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

function report(
  { declared, omitted }: Declarations,
  files: Pick<ImportOptions, "program" | "document">,
  { project, program, document, json, ...target }: ImportOptions,
): void {
  const isEmpty = declared.length === 0;
  const command = ["pulumi", "import", "--file", document, "--generate-code=false"];
  const importCommand = commandLineFor(command, target);
  if (json) {
    const resources = declared.map(({ kind: { className: type }, name, id, inexpressible }) => {
      return { type, name, id, inexpressible };
    });
    const written = isEmpty ? { program: null, document: null } : files;
    const result = { ...written, resources, omitted, importCommand: isEmpty ? null : importCommand };
    console.log(JSON.stringify(result, null, 2));
    return;
  }
  for (const omission of omitted) console.error(oneLine(describeOmission(omission)));
  if (isEmpty) {
    console.log(`Project ${project} has no instances to import. No file was written.`);
    return;
  }
  const count = declared.length === 1 ? "1 resource" : `${declared.length} resources`;
  console.log(`Wrote ${program} and ${document} with ${count}.`);
  if (declared.some(({ inexpressible }) => inexpressible.length > 0))
    console.log(`Comments in ${program} list the values that a program can't contain.`);
  console.log(`
Next steps:
  1. Copy the content of ${program} into your program.
  2. Import the resources into the stack:
       ${importCommand}
  3. Run \`pulumi preview\`. It should show no changes.`);
}

/** @throws CloudInfraError `not_found` if the account has no such project */
async function listProject(session: Session, id: string) {
  const context = listingContext(projectKind, session);
  const projects = await session.client.projects.list(context);
  const project = projects.find((one) => one.id === id);
  if (project === undefined) {
    const hint =
      projects.length === 0
        ? "Check the endpoint and the token. The service returned no projects at all."
        : `Specify one of these ids with --project: ${projects.map((one) => one.id).join(", ")}.`;
    throw new CloudInfraError("not_found", `the service returned no project ${id}`, { hint });
  }
  /** Reports whether an instance belongs to another project. Some services omit the project, or return its name, a path or a URN (§4.4). */
  const isElsewhere = ({ fields }: ApiObject): boolean => {
    const shown = referencedId(fields.project);
    if (typeof shown !== "number" && typeof shown !== "string") return false;
    const names = (one: ApiObject): unknown[] => [one.id, one.fields.name];
    // An id may also contain "/".
    const matches = projects.filter((one) => names(one).some((name) => `/${shown}`.endsWith(`/${name}`)));
    return matches.length > 0 && !matches.includes(project);
  };
  const instances = await session.client.instances.list({ project: id }, context);
  return { project, instances: instances.filter((one) => !isElsewhere(one)), isElsewhere };
}

/** Declares the objects that can be imported. Instances of other projects than the given one are skipped. */
async function declareAll(
  context: Context,
  items: readonly ApiObject[],
  stack: Deployment,
  { project, isElsewhere }: { project?: string; isElsewhere?: (instance: ApiObject) => boolean } = {},
): Promise<Declarations> {
  const selected: ApiObject[] = [];
  const omitted: Omission[] = [];
  for (const item of items) {
    const reason = reasonToOmit(context, item, stack);
    if (reason === undefined) selected.push(item);
    else omitted.push({ kind: context.kind.name, id: item.id, reason });
  }
  const objects: ApiObject[] = [];
  for (let at = 0; at < selected.length; at += CONCURRENT_GETS) {
    const some = selected.slice(at, at + CONCURRENT_GETS);
    objects.push(...(await Promise.all(some.map((item) => complete(context, item)))));
  }
  const ofProject = objects.filter((one) => !isElsewhere?.(one));
  const taken = stack.resources
    .filter(({ urn }) => isUrnOf(context.kind, urn))
    .flatMap(({ urn }) => resourceName(urn) ?? []);
  const declarations = declare(context, ofProject, { taken, given: { project } });
  return { ...declarations, omitted: [...omitted, ...declarations.omitted] };
}

function reasonToOmit(context: Context, item: ApiObject, { resources }: Deployment): string | undefined {
  if (isDeleted(item)) return `it was deleted: its status is ${item.fields.status}`;
  // A resource declared with `get` doesn't manage its object. Objects at different endpoints can have the same id. Lists may contain ids in a
  // different form than the links of operations.
  const isManaged = resources.some(
    ({ id, external, urn, endpoint }) =>
      id !== undefined &&
      comparableId(id) === comparableId(item.id) &&
      !external &&
      isUrnOf(context.kind, urn) &&
      otherRecordedEndpoint(context, { endpoint }) === undefined,
  );
  return isManaged ? "the stack already manages it" : undefined;
}

/** The number of concurrent GET requests. A low limit wastes few requests if the service doesn't support GET. */
const CONCURRENT_GETS = 16;

/** Fetches a listed object, because lists may omit or normalize values (§4.4). If the token can't read it, keeps the list item. */
function complete(context: Context, item: ApiObject): Promise<ApiObject> {
  const { kind, session } = context;
  const ref = { kind, id: item.id, project: undefined };
  return session.finder.gets.complete(item, ref, context).catch((error: unknown) => {
    if (isCloudInfraError(error) && error.code === "forbidden") return item;
    throw error;
  });
}
