import { connectionsOf } from "../../../src/api/connections";
import { isCloudInfraError } from "../../../src/diagnostics/error";
import { parseDuration } from "../../../src/polling/clock";
import { Sessions } from "../../../src/provider/context";
import { findInstances, findProjects } from "../../../src/provider/functions";
import type { Scene } from "./scene";
import { countOne } from "./tally";

/** Runs a program's `getInstances` or `getProjects` with its own session. */
export async function listing(scene: Scene, settings: Readonly<Record<string, string>>): Promise<void> {
  const { clock, served, one, tally } = scene;
  const outside = { dispatcher: connectionsOf(served), random: () => 0.5 };
  const sessions = new Sessions({}, clock, (warning) => scene.heard("a warning", warning), outside);
  const setting = (key: string): string | undefined => settings[key.replace("cloudinfra:", "")];
  const began = clock.now();
  const shownFirst = shown(scene); // a list with lag may show an object only after the request
  const found =
    one.kind === "project"
      ? findProjects(setting, sessions)
      : findInstances(setting, { project: "prj-000000x" }, sessions);
  const work = found.then(
    (objects) => {
      tally.ended("list", "succeeded", clock.now() - began);
      if (scene.isTruthful && objects.length === 0 && Math.min(shownFirst, shown(scene)) > 0)
        scene.broke("a list is empty, although there are objects");
    },
    (error: unknown) => {
      tally.ended("list", "refused", clock.now() - began);
      if (!(error instanceof Error && isCloudInfraError(error.cause)))
        return scene.broke(`list crashed: ${error}`);
      countOne(tally.codes, error.cause.code);
      scene.heardToken("the message of list", error.message);
    },
  );
  const latest = began + (parseDuration(one.operationTimeout) ?? 0) + 1;
  if (!(await clock.during(work, latest))) scene.broke("list exceeded its deadline");
}

/** Returns the number of objects that any list shows now. */
function shown({ one, service }: Scene): number {
  const { state } = service;
  if (state.behaviour.hiddenProjects.length > 0) return 0;
  const moment = state.moment("lists");
  if (one.kind === "project") return [...state.projects.after(0, moment)].length;
  return [...state.instances.after(0, moment)].filter(({ item }) => item.status !== one.behaviour.softDelete)
    .length;
}
