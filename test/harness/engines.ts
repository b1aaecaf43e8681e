import { fakeEngine } from "../engine";
import type { Engine } from "./engine";
import { pulumiEngine } from "./pulumi-engine";

/** The engines at hand: the fake always, and the real CLI where `pulumi` is on PATH. */
export async function engines(): Promise<readonly Engine[]> {
  const real = await pulumiEngine();
  return real ? [fakeEngine, real] : [fakeEngine];
}
