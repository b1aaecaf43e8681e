import zlib from "node:zlib";

const running = new Set<unknown>();

/**
 * Returns whether a reply is being decompressed. The thread pool does that in real time. Without this check, the clock
 * of a case would advance meanwhile.
 */
export function isDecompressing(): boolean {
  return running.size > 0;
}

/** Starts to count decompressions. */
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
