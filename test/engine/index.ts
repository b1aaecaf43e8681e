import type { Engine } from "../harness/engine";
import { FakeStack } from "./stack";

/** Runs programs without the CLI, for tests and first steps. It is not Pulumi. */
export const fakeEngine: Engine = {
  name: "fake",
  open: async (options) => new FakeStack(options),
};
