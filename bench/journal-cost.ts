import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { openJournal } from "../src/journal/journal";
import { median } from "./statistics";
import { printTable } from "./table";

const CREATIONS = 200;
const AT_ONCE = 50;

/**
 * Measures the time that the journal adds to a creation: begin, record the operation and the id, remove. Goal: at most
 * 5 ms.
 */
export async function journalCost(): Promise<void> {
  const dir = mkdtempSync(path.join(os.tmpdir(), "cloudinfra-journal-"));
  const warn = (message: string): never => {
    throw new Error(message);
  };
  const journal = openJournal({ endpoint: "https://api.example.com/v1", dir, warn });
  const creation = async (urn: string): Promise<number> => {
    const start = performance.now();
    await journal.begin({
      urn,
      key: urn,
      resource: urn,
      body: JSON.stringify({ userData: "x".repeat(500) }),
      at: Date.now(),
    });
    await journal.extend(urn, {
      operation: { id: "op-1", url: "https://api.example.com/v1/operations/op-1" },
    });
    await journal.extend(urn, { id: "ins-1" });
    await journal.remove(urn);
    return performance.now() - start;
  };
  try {
    const alone: number[] = [];
    for (let index = 0; index < CREATIONS; index++) alone.push(await creation(`urn-${index}`));
    const start = performance.now();
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => creation(`urn-${index}`)));
    const each = (performance.now() - start) / AT_ONCE;
    printTable(
      `the journal of a creation: begin, operation, id, remove (${CREATIONS} times)`,
      ["", "figure", "goal"],
      [
        ["one at a time, median", `${median(alone).toFixed(1)} ms`, "≤ 5 ms"],
        [`${AT_ONCE} at once, each`, `${each.toFixed(1)} ms`, ""],
      ],
    );
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
