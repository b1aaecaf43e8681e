/** Returns the memory in use after a garbage collection, in bytes. */
export function memoryNow(): { readonly heap: number; readonly rss: number } {
  if (globalThis.gc === undefined) throw new Error("run node with --expose-gc");
  globalThis.gc();
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed, rss };
}

export const MB = 2 ** 20;
