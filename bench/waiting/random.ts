/** Numbers from 0 up to 1, the same ones for the same words (xmur3 to seed, mulberry32 to go on). */
export function randomFrom(...words: readonly (string | number)[]): () => number {
  let state = 0x9e3779b9;
  for (const char of words.join("/")) {
    state = Math.imul(state ^ char.charCodeAt(0), 0xcc9e2d51);
    state = (state << 13) | (state >>> 19);
  }
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
