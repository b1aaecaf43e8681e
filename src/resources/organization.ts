import * as pulumi from "@pulumi/pulumi";

/** The name that backends without organizations, such as those in files, use for all stacks. */
export const NO_ORGANIZATION = "organization";

/** Returns the organization of the stack, or `undefined` if it has none. */
export function organizationOfStack(): string | undefined {
  try {
    const name = pulumi.getOrganization();
    return name === NO_ORGANIZATION ? undefined : name;
  } catch {
    return undefined; // the SDK throws if it doesn't know the organization, for example in unit tests
  }
}
