import type { ApiObject } from "../api/client";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { referencedId } from "../model/equality";
import { instanceKind, projectKind } from "../model/kinds";
import { type Context, listingContext } from "../provider/context";
import { isDeleted } from "../provider/lookup/lookup-result";
import { type Session, Sessions } from "../provider/session";
import { type Command, reportFailure, reportUsageError, shellWord } from "./command";
import { help, type ImportArgs, parseImportArgs } from "./import/args";
import { filesToWrite, writeFiles } from "./import/files";
import {
  type Declaration,
  declarations,
  importDocument,
  omittedInstance,
  programText,
} from "./import/program";
import { type StackResources, stackResources } from "./import/stack-resources";
import { programFolder, stackSettings } from "./pulumi";

/** `npx pulumi-cloudinfra import`: writes the files that import the instances of a project into a stack. */
export const importCommand: Command = {
  async run(args) {
    const parsed = parseImportArgs(args);
    if ("error" in parsed) return reportUsageError("import", parsed.error);
    if (parsed.help) {
      console.log(help());
      return 0;
    }
    const sessions = new Sessions(process.env);
    try {
      await writeImport(parsed, sessions);
      return 0;
    } catch (error) {
      const { project } = parsed;
      return reportFailure(error, {
        action: `importing the instances of project ${project}`,
        provider: parsed.provider,
        call: { verb: "list" },
        secrets: sessions.tokens,
      });
    }
  },
};

async function writeImport(args: ImportArgs, sessions: Sessions): Promise<void> {
  const folder = programFolder(args.cwd);
  const files = filesToWrite(args);
  const [settings, existing] = await Promise.all([
    stackSettings(args.cwd, args.stack),
    stackResources(args.cwd, args.stack),
  ]);
  // Paths and commands in the settings start at the program's folder, which is the provider's working directory.
  process.chdir(folder);
  const provider = args.provider === undefined ? undefined : existing.provider(args.provider);
  sessions.configure(provider?.setting ?? settings);
  const session = sessions.open();
  try {
    const { project, instances } = await inventory(session, args);
    const projects = args.withProject
      ? await declare(listingContext(projectKind, session), [project], existing)
      : NONE;
    const instanceCall = listingContext(instanceKind, session);
    const { declared, untold } = await declare(instanceCall, instances, existing, args.project);
    const all = [...projects.declared, ...declared];
    const left = [...projects.untold, ...untold];
    for (const line of left) console.error(line);
    if (all.length === 0) {
      console.log(`Project ${args.project} has no instances that can be imported. No file was written.`);
      return;
    }
    await writeFiles(
      files,
      { document: importDocument(all, provider), program: programText(all, left, provider) },
      args,
    );
    console.log(nextSteps(args, all));
  } finally {
    await session.close();
  }
}

type Declared = ReturnType<typeof declarations>;

const NONE: Declared = { declared: [], untold: [] };

async function declare(
  context: Context,
  items: readonly ApiObject[],
  existing: StackResources,
  project?: string,
): Promise<Declared> {
  const { objects, excluded } = await findImportable(context, items, existing);
  // A list item may lack the project.
  const selected = objects.filter((object) => project === undefined || isIn(project, object));
  const { declared, untold } = declarations(context, selected, {
    taken: existing.namesOf(context.kind),
    given: { project },
  });
  return { declared, untold: [...excluded, ...untold] };
}

function nextSteps(args: ImportArgs, all: readonly Declaration[]): string {
  const cwd = args.cwd === "." ? "" : ` --cwd ${shellWord(args.cwd)}`;
  const stack = args.stack === undefined ? "" : ` --stack ${shellWord(args.stack)}`;
  const isPartial = all.some(({ left }) => left.length > 0);
  return [
    `Wrote ${args.program} and ${args.document} with ${all.length === 1 ? "1 resource" : `${all.length} resources`}.`,
    ...(isPartial ? [`Comments in ${args.program} name the values that a program can't express.`] : []),
    "Next:",
    `1. Copy the content of ${args.program} into your program.`,
    "2. Import the resources into the stack:",
    `     pulumi import --file ${shellWord(args.document)} --generate-code=false${cwd}${stack}`,
    "3. Run `pulumi preview`. It shows no changes.",
  ].join("\n");
}

/** @throws CloudInfraError `not_found` if the account has no such project */
async function inventory(
  session: Session,
  { project: id }: ImportArgs,
): Promise<{ project: ApiObject; instances: readonly ApiObject[] }> {
  const context = listingContext(projectKind, session);
  const projects = await session.client.projects.list(context);
  const project = projects.find((one) => one.id === id);
  if (project === undefined) {
    throw new CloudInfraError("not_found", `the service returned no project ${id}`, {
      hint:
        projects.length === 0
          ? "Check the endpoint and the token: the service returned no projects at all."
          : `Give one of these ids with --project: ${projects.map((one) => one.id).join(", ")}.`,
    });
  }
  const listed = await session.client.instances.list({ project: id }, context);
  return { project, instances: listed.filter((instance) => isIn(id, instance)) };
}

/** Whether an instance may be in a project. The service may show the project without its id, or not at all (§4.4). */
function isIn(id: string, { fields }: ApiObject): boolean {
  const project = referencedId(fields.project);
  const isId = typeof project === "number" || (typeof project === "string" && project !== "");
  // The service may show a path such as `projects/prj-1`. An id may contain "/", too.
  return !isId || `/${project}`.endsWith(`/${id}`);
}

/** If the first requests show that the service doesn't offer GET, the others aren't sent. */
const GETS_AT_ONCE = 16;

/**
 * Selects the items of a list that may be imported, and completes them. `excluded` says why others aren't: they were deleted, or the stack
 * already manages them.
 */
export async function findImportable(
  context: Context,
  items: readonly ApiObject[],
  existing: StackResources,
): Promise<{ objects: ApiObject[]; excluded: string[] }> {
  const selected: ApiObject[] = [];
  const excluded: string[] = [];
  for (const item of items) {
    const reason = isDeleted(item)
      ? `it was deleted: its status is ${item.fields.status}`
      : existing.manages(context, item.id)
        ? "the stack already manages it"
        : undefined;
    if (reason === undefined) selected.push(item);
    else excluded.push(omittedInstance(context, item, reason));
  }
  const objects: ApiObject[] = [];
  for (let at = 0; at < selected.length; at += GETS_AT_ONCE) {
    const some = selected.slice(at, at + GETS_AT_ONCE);
    objects.push(...(await Promise.all(some.map((item) => completed(context, item)))));
  }
  return { objects, excluded };
}

/** A list may omit arguments (§4.4), or spell them in another way than a refresh finds them. The token may only be allowed to list. */
async function completed(context: Context, item: ApiObject): Promise<ApiObject> {
  const { kind, session } = context;
  try {
    return await session.finder.completeListItem(item, { kind, id: item.id, project: undefined }, context);
  } catch (error) {
    if (isCloudInfraError(error) && error.code === "forbidden") return item;
    throw error;
  }
}
