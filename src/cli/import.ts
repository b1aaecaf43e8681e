import type { ApiObject } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import { type Context, listingContext } from "../provider/call";
import { instanceKind, projectKind } from "../provider/kind";
import { type Session, Sessions } from "../provider/session";
import { referencedId } from "../provider/values/fields";
import { type Command, reportFailure, reportUsageError, shellWord } from "./command";
import { help, type ImportArgs, parseImportArgs } from "./import/args";
import { type Declaration, declarations } from "./import/declaration";
import { importDocument } from "./import/document";
import { filesToWrite, writeFiles } from "./import/files";
import { findImportable } from "./import/importable";
import { programText } from "./import/program-text";
import { type StackResources, stackResources } from "./import/stack-resources";
import { programFolder } from "./program-folder";
import { stackSettings } from "./stack-settings";

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
        doing: `importing the instances of project ${project}`,
        provider: parsed.provider,
        occasion: { verb: "list" },
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
