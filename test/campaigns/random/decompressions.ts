import zlib from "node:zlib";

const running = new Set<unknown>();

/**
 * Whether a reply is being decompressed. The thread pool does that in real time, which the clock of a case doesn't see: without a
 * look here, it would move on meanwhile.
 */
export function isDecompressing(): boolean {
  return running.size > 0;
}

/** Counts decompressions from now on. */
export function watchDecompressions(): void {
  const { prototype } = zlib.Gunzip;
  if (Object.hasOwn(prototype, "end")) return;
  prototype.end = new Proxy(prototype.end, {
    apply(end, gunzip: zlib.Gunzip, args) {
      running.add(gunzip);
      gunzip.once("close", () => running.delete(gunzip));
      return Reflect.apply(end, gunzip, args);
    },
  });
}
