import { describe, expect, it } from "vitest";
import { writeEntries } from "../../src/cli/recover/entries";
import { parseExport } from "../../src/cli/recover/export";
import { organizationOf } from "../../src/cli/recover/stored-settings";
import { type Journal, openJournal } from "../../src/journal/journal";
import {
  creating,
  ENDPOINT,
  exported,
  type Fields,
  INSTANCE,
  instanceInputs,
  KEY,
  OTHER_KEY,
  resource,
  type Stack,
  urnOf,
} from "./exports";
import { type Machine, machine } from "./run-recover";

// Pulumi Cloud has one URL for all organizations, and two of them may have the same project and stack.

const WEB = urnOf(INSTANCE, "web");
const web = (more: Fields = {}): Fields => resource(INSTANCE, "web", instanceInputs(more));
const entry = { urn: WEB, key: OTHER_KEY, resource: OTHER_KEY, body: "{}", at: 1 };

/** The journal of an organization's stack, as the provider opens it. */
function journalOf({ dir }: Machine, organization: string): Journal {
  const env = { XDG_STATE_HOME: `${dir}/state` };
  const warn = (message: string): void => expect.fail(message);
  return openJournal({ endpoint: ENDPOINT, cwd: dir, env, organization: () => organization, warn });
}

describe("recover", () => {
  it("writes the entry for the organization that the state names, whatever entries another one has", async () => {
    const here = machine();
    const [acme, beta] = [journalOf(here, "acme"), journalOf(here, "beta")];
    await beta.begin(entry);
    const killed = exported({ pending: [creating(web({ __organization: "acme" }))] });
    const { code, stdout } = await here.recover(["--file", here.write(killed)]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("wrote a journal entry") });
    expect(await acme.read({ urn: WEB })).toMatchObject({ key: KEY, organization: "acme" });
    expect(await beta.read({ urn: WEB })).toMatchObject({ key: OTHER_KEY });
  });

  it("writes an entry that no other organization's `up` reads", async () => {
    const here = machine();
    const killed = exported({ pending: [creating(web({ __organization: "acme" }))] });
    await here.recover(["--file", here.write(killed)]);
    expect(await journalOf(here, "beta").read({ urn: WEB })).toBeUndefined();
  });

  it("takes an entry of an unknown organization for that of a creation only if it has its key", async () => {
    const here = machine();
    await here.journal.begin({ ...entry, recovered: true });
    const acme = journalOf(here, "acme");
    const creation = { what: 'instance "web"', urn: WEB, provider: undefined };
    const begun = { ...entry, key: KEY, resource: KEY, recovered: true };
    await writeEntries(acme, [{ ...creation, begun }], { dryRun: false });
    expect(await acme.read({ urn: WEB })).toMatchObject({ key: KEY });
  });

  it("--forget leaves the entry of another organization's stack alone", async () => {
    const here = machine();
    const beta = journalOf(here, "beta");
    await beta.begin(entry);
    const file = here.write(exported({ resources: [web({ __organization: "acme" })] }));
    expect(await here.recover(["--file", file, "--forget", WEB])).toMatchObject({ code: 1 });
    expect(await beta.read({ urn: WEB })).toMatchObject({ key: OTHER_KEY });
  });
});

describe("the organization of a stack", () => {
  const organization = (state: Stack, stack?: string): string | undefined =>
    organizationOf(parseExport(JSON.stringify(exported(state))), { stack });
  const acme = web({ __organization: "acme" });

  it.each([
    ["acme/app/dev", "acme"],
    ["acme/dev", "acme"],
    ["organization/app/dev", undefined],
    ["dev", "beta"],
    [undefined, "beta"],
  ])("is the one that --stack %s names, or else the one of the state", (stack, expected) => {
    expect(organization({ resources: [web({ __organization: "beta" })] }, stack)).toBe(expected);
  });

  it("is that of resources and pending operations, and unknown if they name none or several", () => {
    expect(organization({ resources: [web(), acme] })).toBe("acme");
    expect(organization({ pending: [creating(acme)] })).toBe("acme");
    expect(organization({ resources: [web()] })).toBeUndefined();
    expect(
      organization({ resources: [acme], pending: [creating(web({ __organization: "beta" }))] }),
    ).toBeUndefined();
  });
});
