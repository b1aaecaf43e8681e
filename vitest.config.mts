import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/build-once.ts"],
    pool: "forks",
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // In CI the provider shows progress by quarters only; scenarios wait for what a person would see.
    env: { CI: "" },
  },
});
