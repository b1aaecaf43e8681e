import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../harness/modules";

test("every file and folder that ARCHITECTURE.md names is there", () => {
  const page = readFileSync(path.join(REPOSITORY, "ARCHITECTURE.md"), "utf8");
  const named = [...page.matchAll(/`((?:src|test)\/[\w./-]+)`|\]\(([\w./-]+)\)/g)].map(
    ([, code, link]) => code ?? link ?? "",
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((file) => !existsSync(path.join(REPOSITORY, file)))).toEqual([]);
});
