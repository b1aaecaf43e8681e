import { importCost } from "./import-cost";
import { journalCost } from "./journal-cost";
import { stateSize } from "./state-size";

async function main(): Promise<void> {
  importCost();
  await journalCost();
  await stateSize();
}

void main();
