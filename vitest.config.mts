import os from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/build-once.ts"],
    pool: "forks",
    // Scenarios mostly wait for processes that they have started: on two cores two of them leave half a core idle.
    maxWorkers: Math.max(3, os.availableParallelism() - 1),
    testTimeout: 300_000,
    hookTimeout: 120_000,
    // In CI the provider shows progress by quarters only; scenarios wait for what a person would see.
    env: { CI: "" },
  },
});
