/** What has to be known of the package that is released. */
export interface Released {
  /** Of `package.json`. */
  readonly version: string;
  /** Of `package.json`: npm signs where a package comes from only where it names that. */
  readonly repository?: unknown;
}

/**
 * The section of the changelog about the version of a tag.
 *
 * @throws Error in words, where the tag, the package and the changelog do not go together
 */
export function notesOf(tag: string, { version, repository }: Released, changelog: string): string {
  if (tag !== `v${version}`)
    throw new Error(`the tag is ${tag}, but package.json has the version ${version}`);
  if (/[-+]/.test(version))
    throw new Error(`${version} is a version to try out: npm would take it for the newest one`);
  if (repository === undefined)
    throw new Error(
      "package.json names no repository: npm takes no provenance without, and links of the README lead nowhere",
    );
  const section = changelog
    .split(/^## /m)
    .slice(1)
    .map((text) => ({ heading: text.split("\n", 1)[0] ?? "", body: text.slice(text.indexOf("\n")).trim() }))
    .find(({ heading }) => heading.split(" ", 1)[0] === version);
  if (section === undefined)
    throw new Error(
      `CHANGELOG.md has no section "## ${version}" (one that begins with "Unreleased" is none)`,
    );
  if (section.body === "") throw new Error(`CHANGELOG.md says nothing of ${version}`);
  return `${section.body}\n`;
}
