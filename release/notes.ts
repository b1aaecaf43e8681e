/** The fields of `package.json` that a release needs. */
export interface Released {
  /** The version in `package.json`. */
  readonly version: string;
  /** npm signs the provenance of a package only if `package.json` names the repository. */
  readonly repository?: unknown;
}

/**
 * Returns the section of the changelog for a tag's version.
 *
 * @throws Error if the tag, the package and the changelog don't match
 */
export function notesOf(tag: string, { version, repository }: Released, changelog: string): string {
  if (tag !== `v${version}`)
    throw new Error(`the tag is ${tag}, but package.json has the version ${version}`);
  if (/[-+]/.test(version))
    throw new Error(`${version} is a prerelease, and npm would publish it as the latest version`);
  if (repository === undefined)
    throw new Error("package.json names no repository, which npm's provenance and the README's links need");
  const section = changelog
    .split(/^## /m)
    .slice(1)
    .map((text) => ({ heading: text.split("\n", 1)[0] ?? "", body: text.slice(text.indexOf("\n")).trim() }))
    .find(({ heading }) => heading.split(" ", 1)[0] === version);
  if (section === undefined)
    throw new Error(
      `CHANGELOG.md has no section "## ${version}" (one that starts with "Unreleased" doesn't count)`,
    );
  if (section.body === "") throw new Error(`CHANGELOG.md has an empty section for ${version}`);
  return `${section.body}\n`;
}
