/** Processes the items in order, up to `width` at a time, as the engine does with `--parallel`. */
export async function atOnce<T, Done>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<Done>,
): Promise<Done[]> {
  const done: Done[] = [];
  const left = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of left) done[at] = await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return done;
}
