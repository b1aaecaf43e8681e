import { Random } from "../../test/campaigns/random";

/** Returns random numbers from 0 (inclusive) to 1 (exclusive). The same words give the same numbers (xmur3 makes the seed). */
export function randomFrom(...words: readonly (string | number)[]): () => number {
  let state = 0x9e3779b9;
  for (const char of words.join("/")) {
    state = Math.imul(state ^ char.charCodeAt(0), 0xcc9e2d51);
    state = (state << 13) | (state >>> 19);
  }
  const random = new Random(state);
  return () => random.fraction();
}
