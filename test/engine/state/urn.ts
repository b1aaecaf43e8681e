export const stackType = "pulumi:pulumi:Stack";
export const providerTypePrefix = "pulumi:providers:";

export interface Urn {
  readonly stack: string;
  readonly project: string;
  /** Includes the types of the parents: `my:index:Group$my:index:Thing`. */
  readonly qualifiedType: string;
  readonly type: string;
  readonly name: string;
}

export function parseUrn(urn: string): Urn {
  const [scheme, project, qualifiedType, ...name] = urn.split("::");
  if (
    !scheme?.startsWith("urn:pulumi:") ||
    project === undefined ||
    qualifiedType === undefined ||
    name.length === 0
  ) {
    throw new Error(`not a URN: ${urn}`);
  }
  return {
    stack: scheme.slice("urn:pulumi:".length),
    project,
    qualifiedType,
    type: qualifiedType.slice(qualifiedType.lastIndexOf("$") + 1),
    name: name.join("::"),
  };
}

export function makeUrn(
  where: { stack: string; project: string },
  parent: string,
  type: string,
  name: string,
): string {
  const parentType = parent === "" ? stackType : parseUrn(parent).qualifiedType;
  const qualified = parentType === stackType ? type : `${parentType}$${type}`;
  return `urn:pulumi:${where.stack}::${where.project}::${qualified}::${name}`;
}

export function isProviderType(type: string): boolean {
  return type.startsWith(providerTypePrefix);
}

export function isDefaultProvider(urn: string): boolean {
  const { type, name } = parseUrn(urn);
  return isProviderType(type) && name.startsWith("default");
}

/** Parses a provider reference, which is the URN and the id of the provider's resource. */
export function parseProviderReference(reference: string): { urn: string; id: string } {
  const at = reference.lastIndexOf("::");
  if (at < 0) throw new Error(`not a provider reference: ${reference}`);
  return { urn: reference.slice(0, at), id: reference.slice(at + 2) };
}
