import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Emulator } from "../../src/emulator";
import type { Deployment } from "../harness/engine";

/** A state as some version of this package has written it, and what was at the service then. */
export interface Fixture {
  /** What the state shows that a later one may not. */
  readonly about: string;
  readonly program: string;
  readonly endpoint: string;
  readonly token: string;
  /** The service's clock, in milliseconds since 1970; it stood still. */
  readonly now: number;
  readonly projects: readonly Recorded[];
  readonly instances: readonly Recorded[];
  readonly deployment: Deployment;
}

interface Recorded {
  readonly id: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Of instances. */
  readonly revision?: string;
  readonly address?: string;
}

export const FOLDER = path.join(__dirname, "states");

export function fixtures(): [name: string, fixture: Fixture][] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  return names.map((name) => [
    name.replace(/\.json$/, ""),
    JSON.parse(readFileSync(path.join(FOLDER, name), "utf8")),
  ]);
}

/** How a service that spells images by their ids, as the fixtures' did, shows an instance. */
export function spelling(instance: Readonly<Record<string, unknown>>): object {
  return { ...instance, image: `img-${instance.image}`, zone: "b" };
}

/** Puts the objects of a fixture into a service. @returns its state, about what is there now */
export function restore(emulator: Emulator, fixture: Fixture): Deployment {
  const now = new Map([
    [fixture.endpoint, emulator.endpoint],
    [fixture.token, emulator.token],
  ]);
  for (const { id, fields } of fixture.projects) now.set(id, emulator.addProject(fields).id);
  for (const { id, fields, revision, address } of fixture.instances) {
    const project = now.get(String(fields.project));
    const made = emulator.addInstance({ ...fields, project });
    now.set(id, made.id);
    if (revision !== undefined) now.set(`"${revision}"`, `"${made.revision}"`);
    if (address !== undefined && made.address !== undefined) now.set(address, made.address);
  }
  let text = JSON.stringify(fixture.deployment);
  for (const [old, fresh] of now) text = text.replaceAll(old, fresh);
  return JSON.parse(text);
}
