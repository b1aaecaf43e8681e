import { importCost } from "./import-cost";
import { stateSize } from "./state-size";

async function main(): Promise<void> {
  importCost();
  await stateSize();
}

void main();
