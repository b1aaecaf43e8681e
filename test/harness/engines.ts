import { fakeEngine } from "../engine";
import type { Engine } from "./engine";
import { pulumiEngine } from "./pulumi-engine";

/** The available engines: the fake engine, and the real CLI if `pulumi` is on PATH. */
export async function engines(): Promise<readonly Engine[]> {
  const real = await pulumiEngine();
  return real ? [fakeEngine, real] : [fakeEngine];
}
