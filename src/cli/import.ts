import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { ApiObject } from "../api/client";
import { CloudInfraError, isCloudInfraError } from "../diagnostics/error";
import { inWords } from "../diagnostics/words";
import { lookup } from "../provider/call";
import { instanceKind, projectKind } from "../provider/kind";
import { type Session, Sessions } from "../provider/session";
import type { Command } from "./command";
import { help, type ImportArgs, parseImportArgs } from "./import/args";
import { declarations } from "./import/declaration";
import { importDocument } from "./import/document";
import { programText } from "./import/program-text";
import { stackSettings } from "./import/stack-settings";

/** `npx pulumi-cloudinfra import`: writes what takes the instances of a project into a stack. */
export const importCommand: Command = {
  async run(args) {
    const parsed = parseImportArgs(args);
    if ("error" in parsed) {
      console.error(`${parsed.error}\n"pulumi-cloudinfra import --help" lists the options.`);
      return 2;
    }
    if (parsed.help) {
      console.log(help());
      return 0;
    }
    try {
      await writeImport(parsed);
      return 0;
    } catch (error) {
      if (!isCloudInfraError(error)) throw error;
      console.error(
        inWords(error, { doing: `importing the instances of ${parsed.project}`, profile: parsed.profile }),
      );
      return 1;
    }
  },
};

async function writeImport(args: ImportArgs): Promise<void> {
  const sessions = new Sessions(process.env);
  sessions.configure(await stackSettings(args.cwd, args.stack));
  const session = sessions.open(args.profile);
  const { project, instances } = await inventory(session, args);
  const projects = args.withProject ? declarations(lookup(projectKind, session), [project]) : NONE;
  const { declared, untold } = declarations(lookup(instanceKind, session), instances);
  const all = [...projects.declared, ...declared];
  for (const line of [...projects.untold, ...untold]) console.error(line);
  if (all.length === 0) {
    console.log(`project ${args.project} has no instance to import; nothing was written`);
    return;
  }
  await writeBoth(args, { document: importDocument(all), program: programText(all) });
  const stack = args.stack === undefined ? "" : ` --stack ${args.stack}`;
  console.log(
    `${all.length} resources are written. Put the text of ${args.program} into your program, then run\n` +
      `  pulumi import --file ${args.document} --generate-code=false${stack}\n` +
      "and `pulumi preview`: it should show nothing to do but that the resources are there.",
  );
}

const NONE: ReturnType<typeof declarations> = { declared: [], untold: [] };

/** @throws CloudInfraError `not_found` where the account shows no such project */
async function inventory(
  session: Session,
  { project: id }: ImportArgs,
): Promise<{ project: ApiObject; instances: readonly ApiObject[] }> {
  const call = lookup(projectKind, session);
  const projects = await session.client.projects.list(call);
  const project = projects.find((one) => one.id === id);
  if (project === undefined) {
    throw new CloudInfraError("not_found", `the service shows no project ${id}`, {
      hint: `it shows ${projects.map((one) => one.id).join(", ") || "none at all: check endpoint and token"}`,
    });
  }
  const listed = await session.client.instances.list({ project: id }, call);
  // A list's items may leave things out (§4.4); one that does not name its project is of the one that was asked for.
  const instances = listed.map((one) => ({ ...one, fields: { project: id, ...one.fields } }));
  return { project, instances };
}

/** Neither file is written where one of them would be written over. */
async function writeBoth(args: ImportArgs, texts: { document: string; program: string }): Promise<void> {
  const files = (["document", "program"] as const).map((name) => {
    return { file: path.resolve(args.cwd, args[name]), text: texts[name] };
  });
  const there = files.find(({ file }) => !args.force && existsSync(file));
  if (there !== undefined) {
    throw new CloudInfraError("input_invalid", `${there.file} is there already`, {
      hint: "give another name with --program or --document, or --force to write over it",
    });
  }
  for (const { file, text } of files) {
    await writeFile(file, text).catch((cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new CloudInfraError("input_invalid", `${file} can't be written: ${why}`, { cause });
    });
  }
}
