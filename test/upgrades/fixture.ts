import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Emulator } from "../../src/emulator";
import type { Deployment } from "../harness/engine";

/** The state that some version of this package has written, and the service's objects at that time. */
export interface Fixture {
  /** What this state shows that later ones may not. */
  readonly about: string;
  readonly program: string;
  readonly endpoint: string;
  readonly token: string;
  /** The service's clock, which stood still, in milliseconds since 1970. */
  readonly now: number;
  readonly projects: readonly Recorded[];
  readonly instances: readonly Recorded[];
  readonly deployment: Deployment;
}

interface Recorded {
  readonly id: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** For instances. */
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

/** Returns an instance as the service of the fixtures normalizes it: with the image's id instead of its name. */
export function spelling(instance: Readonly<Record<string, unknown>>): object {
  return { ...instance, image: `img-${instance.image}`, zone: "b" };
}

/** Adds the objects of a fixture to a service. @returns the fixture's state with the current ids and endpoint */
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
