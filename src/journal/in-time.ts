/** The longest that a disk may keep its user waiting: a network folder may never answer. Milliseconds. */
const PATIENCE_MS = 10_000;

/** The folders that have kept this process waiting too long. It doesn't access them again: each access would wait as long, and block a thread. */
const late = new Set<string>();

/** The end of the first access to each folder. Others wait for it, as otherwise they could block all threads of the process together. */
const first = new Map<string, Promise<void>>();

/** The result of some work in a folder, or an error after ten seconds; the work itself can't be stopped. */
export async function inTime<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const before = first.get(folder);
  if (before !== undefined) await before;
  if (late.has(folder)) throw tooLate();
  const result = timed(folder, work());
  const ignore = (): void => undefined;
  if (before === undefined) first.set(folder, result.then(ignore, ignore));
  return result;
}

async function timed<T>(folder: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      late.add(folder);
      reject(tooLate());
    }, PATIENCE_MS);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(): Error {
  return new Error(`the disk has not answered for ${PATIENCE_MS / 1000} s`);
}
