/** The longest that a disk may keep its user waiting: a network folder may never answer. Milliseconds. */
const DISK_TIMEOUT_MS = 10_000;

/** The folders that have kept this process waiting too long. It doesn't access them again: each access would wait as long, and block a thread. */
const unresponsiveFolders = new Set<string>();

/** The end of the first access to each folder. Others wait for it, as otherwise they could block all threads of the process together. */
const firstAccesses = new Map<string, Promise<void>>();

/** The result of some work in a folder, or an error after ten seconds; the work itself can't be stopped. */
export async function withDiskTimeout<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const before = firstAccesses.get(folder);
  if (before !== undefined) await before;
  if (unresponsiveFolders.has(folder)) throw diskTimeout();
  const result = timed(folder, work());
  const ignore = (): void => undefined;
  if (before === undefined) firstAccesses.set(folder, result.then(ignore, ignore));
  return result;
}

async function timed<T>(folder: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      unresponsiveFolders.add(folder);
      reject(diskTimeout());
    }, DISK_TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function diskTimeout(): Error {
  return new Error(`the disk has not answered for ${DISK_TIMEOUT_MS / 1000} s`);
}
