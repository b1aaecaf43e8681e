import { describe, expect, it } from "vitest";
import { organizationOf } from "../../src/cli/recover";
import { writeEntries } from "../../src/cli/recover-creations";
import { parseExport } from "../../src/cli/stack-export";
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

// Pulumi Cloud has one URL for all organizations, and two organizations can have the same project and stack.

const WEB = urnOf(INSTANCE, "web");
const web = (more: Fields = {}): Fields => resource(INSTANCE, "web", instanceInputs(more));
const entry = { urn: WEB, key: OTHER_KEY, resource: OTHER_KEY, body: "{}", at: 1 };

/** Opens the journal of an organization's stack as the provider does. */
function journalOf({ dir }: Machine, organization: string): Journal {
  const env = { XDG_STATE_HOME: `${dir}/state`, PULUMI_HOME: `${dir}/pulumi` };
  const warn = (message: string): void => expect.fail(message);
  return openJournal({ endpoint: ENDPOINT, cwd: dir, env, organization: () => organization, warn });
}

describe("recover", () => {
  it("writes the entry for the organization that the state names, even if another organization has one", async () => {
    const here = machine();
    const [acme, beta] = [journalOf(here, "acme"), journalOf(here, "beta")];
    await beta.begin(entry);
    const killed = exported({ pending: [creating(web({ __organization: "acme" }))] });
    const { code, stdout } = await here.recover(["--file", here.write(killed)]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("wrote a journal entry") });
    expect(await acme.read({ urn: WEB })).toMatchObject({ key: KEY, organization: "acme" });
    expect(await beta.read({ urn: WEB })).toMatchObject({ key: OTHER_KEY });
  });

  it("writes an entry that the `up` of another organization doesn't read", async () => {
    const here = machine();
    const killed = exported({ pending: [creating(web({ __organization: "acme" }))] });
    await here.recover(["--file", here.write(killed)]);
    expect(await journalOf(here, "beta").read({ urn: WEB })).toBeUndefined();
  });

  it("uses an entry of an unknown organization only if it has the key of the creation", async () => {
    const here = machine();
    await here.journal.begin({ ...entry, recovered: true });
    const acme = journalOf(here, "acme");
    const creation = { kind: "instance", name: "web", urn: WEB, provider: undefined } as const;
    const recovered = { ...entry, key: KEY, resource: KEY, recovered: true };
    await writeEntries(acme, [{ ...creation, entry: recovered }], { dryRun: false });
    expect(await acme.read({ urn: WEB })).toMatchObject({ key: KEY });
  });

  it("keeps the entry of another organization's stack with --forget", async () => {
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
    organizationOf(parseExport(JSON.stringify(exported(state))), stack === undefined ? {} : { stack });
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

  it("comes from resources and pending operations, and is unknown if they name none or several", () => {
    expect(organization({ resources: [web(), acme] })).toBe("acme");
    expect(organization({ pending: [creating(acme)] })).toBe("acme");
    expect(organization({ resources: [web()] })).toBeUndefined();
    expect(
      organization({ resources: [acme], pending: [creating(web({ __organization: "beta" }))] }),
    ).toBeUndefined();
  });
});
