import { expect, onTestFinished } from "vitest";
import { type Behaviour, type Emulator, type EmulatorOptions, startEmulator } from "../../src/emulator";
import type { Clock } from "../../src/polling/clock";
import { exercise } from "../../src/probe/changing";
import type { changingPoints } from "../../src/probe/changing-points";
import { Lifecycle, RecordFile } from "../../src/probe/lifecycle";
import { type accessPoints, Exchanges } from "../../src/probe/reading";
import { examine, type readingPoints } from "../../src/probe/reading-points";
import type { Finding } from "../../src/probe/report";
import { Sessions } from "../../src/provider/context";
import { emptyFolder } from "../journal/folder";

export type PointId = keyof typeof accessPoints | keyof typeof readingPoints | keyof typeof changingPoints;

export const FIELDS = { image: "debian-13", flavor: "small", network: "default" };

/** A clock whose time passes only while somebody waits, and with each request of the emulator. */
function virtualClock(): Clock & { pass(ms: number): void } {
  let now = Date.UTC(2026, 0, 1);
  return {
    now: () => now,
    sleep: async (ms) => {
      now += ms;
    },
    alarm: () => () => {},
    pass(ms) {
      now += ms;
    },
  };
}

/** A service with two projects and two instances, and a probe of it, for which time passes without waiting. */
export async function openProbe(options: EmulatorOptions = {}) {
  const clock = virtualClock();
  const emulator = await startEmulator({
    ...options,
    behaviour: { ...(options.like === undefined && { operationMs: 4_000 }), ...options.behaviour },
    now: clock.now,
    onRequest: () => clock.pass(50),
  });
  onTestFinished(() => emulator.stop());
  const project = emulator.addProject({ name: "shop" }).id;
  emulator.addProject({ name: "blog" });
  for (const name of ["web", "api"])
    emulator.addInstance({ project, name, public_ip: "auto", labels: { role: name } });
  clock.pass(3_600_000); // so that no reply lags behind these objects
  const folder = emptyFolder();
  const env = {
    CLOUDINFRA_ENDPOINT: emulator.endpoint,
    CLOUDINFRA_TOKEN: emulator.token,
    CLOUDINFRA_JOURNAL_DIR: folder,
  };
  const exchanges = new Exchanges();
  const session = new Sessions(env, clock, expect.fail, { observe: exchanges.observe }).open();
  onTestFinished(() => session.close());
  const file = new RecordFile(folder, emulator.endpoint);
  const record = { endpoint: emulator.endpoint, name: "probe-1234", creations: [] };
  /** Runs `probe --create` in the project, or in a new one. */
  const create = async (place: { project?: string; region?: string } = { project }): Promise<Finding[]> => {
    const { region, ...inProject } = place;
    const life = new Lifecycle(session, file, { ...record, ...inProject });
    const read = async () => (await examine(session, exchanges)).findings;
    const findings = await exercise(life, exchanges, { ...FIELDS, ...place }, await read(), read);
    await life.clean();
    return findings;
  };
  return { clock, emulator, project, session, exchanges, file, record, create };
}

/** Probes a service with these switches, and checks that the probe leaves nothing behind. */
export async function created(
  behaviour: Partial<Behaviour>,
  prepare: (emulator: Emulator) => void = () => {},
): Promise<Finding[]> {
  const { emulator, create, file, project } = await openProbe({ behaviour });
  prepare(emulator);
  const place = behaviour.projectPost === undefined ? { project } : { region: "eu-1" };
  const findings = await create(place);
  expect(await file.read()).toBeUndefined();
  const names = [...emulator.projects.values(), ...emulator.instances.values()].map(
    ({ fields }) => fields.name,
  );
  if (behaviour.deleteObject !== 405) expect(names).toEqual(["shop", "blog", "web", "api"]);
  return findings;
}
