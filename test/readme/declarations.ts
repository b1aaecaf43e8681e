import path from "node:path";
import ts from "typescript";
import { REPOSITORY } from "../harness/modules";
import { readMarkdown } from "./markdown";

/** A property of an interface or a class, as its declaration and its docstring describe it. */
export interface Property {
  readonly name: string;
  /** The type of the value, without `Input` and `Output`. */
  readonly type: string;
  readonly isOptional: boolean;
  /** The `@default` of the docstring. */
  readonly default: string | undefined;
  /** The docstring in Markdown, on one line. */
  readonly description: string;
}

/** Reads the public properties of an exported interface or class from a file below `src/resources`. */
export function propertiesOf(file: string, type: string): Property[] {
  const source = sourceOf(file);
  const declaration = source.statements
    .filter((one) => ts.isInterfaceDeclaration(one) || ts.isClassDeclaration(one))
    .find((one) => one.name?.text === type);
  if (declaration === undefined) throw new Error(`${file} doesn't declare ${type}`);
  return declaration.members.flatMap((member) => {
    const isProperty = ts.isPropertySignature(member) || ts.isPropertyDeclaration(member);
    if (!isProperty || ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Static) return [];
    const type = member.type?.getText(source) ?? "";
    return [
      {
        name: member.name.getText(source),
        type: valueType(type),
        isOptional: member.questionToken !== undefined || /\| undefined\b/.test(type),
        default: defaultOf(member),
        description: descriptionOf(member),
      },
    ];
  });
}

function sourceOf(file: string): ts.SourceFile {
  const name = path.join("src/resources", file);
  return ts.createSourceFile(path.join(REPOSITORY, name), readMarkdown(name), ts.ScriptTarget.Latest, true);
}

/** Removes what says only that a value may be an output or missing, and the names of types that are strings. */
function valueType(text: string): string {
  let type = text.replaceAll(/\s*\|\s*undefined\b/g, "").replaceAll(/\breadonly\s+/g, "");
  for (let before = ""; before !== type; ) {
    before = type;
    type = type.replace(/\b(?:pulumi\.)?(?:Input|Output|Readonly)<((?:[^<>]|<[^<>]*>)*)>/, "$1");
  }
  return type.replace(/^(?:PublicIp|InstanceStatus)$/, "string");
}

function descriptionOf(node: ts.Node): string {
  const [doc] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  return oneLine(ts.getTextOfJSDocComment(doc?.comment));
}

function defaultOf(node: ts.Node): string | undefined {
  const tag = ts.getJSDocTags(node).find(({ tagName }) => tagName.text === "default");
  return tag && oneLine(ts.getTextOfJSDocComment(tag.comment));
}

function oneLine(text = ""): string {
  return text
    .replaceAll(/\{@link (?:\w+\.)?(\w+)\}/g, "`$1`")
    .replaceAll(/\s+/g, " ")
    .trim();
}
