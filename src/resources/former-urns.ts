import * as pulumi from "@pulumi/pulumi";
import { aliasesOf, parentOf, resolved } from "./sdk";

/** What the engine makes a resource's URN of, and its aliases: what it may have made the URN of before. */
export interface Identity {
  readonly name: string;
  readonly type: string;
  readonly parent?: pulumi.Resource | undefined;
  readonly aliases?: readonly pulumi.Input<pulumi.URN | pulumi.Alias>[] | undefined;
}

/** Reports whether a resource may have had another URN before. */
export function hasFormerUrns({ aliases = [], parent }: Pick<Identity, "aliases" | "parent">): boolean {
  if (aliases.length > 0) return true;
  return parent !== undefined && hasFormerUrns({ aliases: aliasesOf(parent), parent: parentOf(parent) });
}

/**
 * Resolves to the URNs that a resource may have had before, according to its aliases and to those of its parents. They may include the
 * URN that it has now.
 */
export async function formerUrns(identity: Identity): Promise<string[]> {
  const { name, type, parent, aliases = [] } = identity;
  const own = (await Promise.all(aliases.map((alias) => urnsOf(alias, identity)))).flat();
  if (parent === undefined) return [...new Set(own)];
  const identities = [{ name, type }, ...own.map(nameAndType)];
  const parentUrns = await formerUrnsOf(parent);
  const inherited = parentUrns.flatMap((urn) => identities.map((child) => inheritedUrn(child, parent, urn)));
  return [...new Set([...own, ...inherited])];
}

async function formerUrnsOf(resource: pulumi.Resource): Promise<string[]> {
  const above = { aliases: aliasesOf(resource), parent: parentOf(resource) };
  if (!hasFormerUrns(above)) return [];
  return formerUrns({ name: pulumi.resourceName(resource), type: pulumi.resourceType(resource), ...above });
}

/** The URNs that an alias stands for: several if the alias names a parent that has had other URNs itself. */
async function urnsOf(given: pulumi.Input<pulumi.URN | pulumi.Alias>, now: Identity): Promise<string[]> {
  const alias = await resolved(given);
  if (alias === undefined || typeof alias === "string") return alias === undefined ? [] : [alias];
  const { stack = pulumi.getStack(), project = pulumi.getProject() } = alias;
  const { name = now.name, type = now.type } = alias;
  const parent = Object.hasOwn(alias, "parent") ? alias.parent : now.parent;
  const urnIn = (parentUrn: string | undefined): string =>
    `urn:pulumi:${stack}::${project}::${typesAbove(parentUrn)}${type}::${name}`;
  if (!pulumi.Resource.isInstance(parent)) return [urnIn(parent)];
  const isInherited = parent === now.parent; // `formerUrns` adds what the resource inherits from its own parent
  return [await resolved(parent.urn), ...(isInherited ? [] : await formerUrnsOf(parent))].map(urnIn);
}

/** The types of a URN that a child's URN begins with; the stack's own type is left out there. */
function typesAbove(parentUrn: string | undefined): string {
  const types = parentUrn?.split("::")[2];
  return types === undefined || types === "pulumi:pulumi:Stack" ? "" : `${types}$`;
}

/** The URN of a child while its parent had another URN. A child that is named after its parent was renamed together with it. */
function inheritedUrn(
  child: Pick<Identity, "name" | "type">,
  parent: pulumi.Resource,
  parentUrn: string,
): string {
  const parentName = pulumi.resourceName(parent);
  const { name: formerName } = nameAndType(parentUrn);
  const name = child.name.startsWith(parentName)
    ? formerName + child.name.slice(parentName.length)
    : child.name;
  const [stack, project] = parentUrn.split("::");
  return `${stack}::${project}::${typesAbove(parentUrn)}${child.type}::${name}`;
}

function nameAndType(urn: string): { name: string; type: string } {
  const [, , types = "", ...name] = urn.split("::");
  return { name: name.join("::"), type: types.split("$").at(-1) ?? "" };
}
