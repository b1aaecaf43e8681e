import os from "node:os";
import path from "node:path";
import { configDefaults, defineConfig } from "vitest/config";

/** Takes minutes, and shows little that the other tests don't: `npm run test:all` runs it. */
const SLOW = [
  "test/campaigns/**",
  "test/cli/import-program.test.ts",
  "test/demo/**",
  "test/engine/**",
  "test/examples/{lives,previews,types}.test.ts",
  "test/harness/**",
  "test/package/installed.test.ts",
  "test/readme/programs.test.ts",
  // All scenarios except one for each promise that needs an engine.
  "test/scenarios/!(conflicts|functions|interrupted|journal|previews|secrets)*",
  "test/scenarios/{interrupted,journal}-*",
  "test/upgrades/**",
];

export default defineConfig(({ mode }) => {
  const isFull = mode === "all";
  return {
    test: {
      include: ["test/**/*.test.ts"],
      exclude: isFull ? configDefaults.exclude : [...configDefaults.exclude, ...SLOW],
      globalSetup: ["test/build-once.ts"],
      pool: "forks",
      // Loading @pulumi/pulumi once for each test file would take as long as the tests themselves.
      isolate: false,
      // Scenarios mostly wait for processes that they have started: on two cores, two of them leave half a core idle.
      maxWorkers: Math.max(3, os.availableParallelism() - 1),
      testTimeout: 300_000,
      hookTimeout: 120_000,
      env: {
        // In CI, the provider shows progress in quarters only, but scenarios wait for what a person would see.
        CI: "",
        CLOUDINFRA_TEST: isFull ? "all" : "",
        // Every command starts two or three processes that load @pulumi/pulumi. With the cache, that takes half the time.
        NODE_COMPILE_CACHE: path.join(os.tmpdir(), "pulumi-cloudinfra-compile-cache"),
      },
    },
  };
});
