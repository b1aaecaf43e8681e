/** The longest that a disk may keep its user waiting: a network folder may never answer. Milliseconds. */
const PATIENCE_MS = 10_000;

/** The result of some work on a disk, or an error after ten seconds; the work itself can't be stopped. */
export async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `the disk has not answered for ${PATIENCE_MS / 1000} s`;
    timer = setTimeout(() => reject(new Error(message)), PATIENCE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
