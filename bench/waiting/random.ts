import { Random } from "../../test/campaigns/random";

/** Numbers from 0 up to 1, the same ones for the same words (xmur3 makes the seed of them). */
export function randomFrom(...words: readonly (string | number)[]): () => number {
  let state = 0x9e3779b9;
  for (const char of words.join("/")) {
    state = Math.imul(state ^ char.charCodeAt(0), 0xcc9e2d51);
    state = (state << 13) | (state >>> 19);
  }
  const random = new Random(state);
  return () => random.fraction();
}
