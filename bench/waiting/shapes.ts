/** Maps the elapsed share of the duration to the reported progress, both from 0 to 1. */
export type Progress = (share: number) => number | undefined;

/** A shape of progress. Its random parts are drawn for each operation. */
export type Shape = (random: () => number) => Progress;

export const shapes = {
  linear: () => (share) => share,
  quadratic: () => (share) => share ** 2,
  /** Eight parts of random lengths. Progress is reported at the end of each part. */
  bursty(random) {
    const lengths = Array.from({ length: 8 }, () => -Math.log(1 - random()));
    const total = lengths.reduce((sum, length) => sum + length, 0);
    let end = 0;
    const ends = lengths.map((length) => {
      end += length / total;
      return end;
    });
    return (share) => ends.filter((at) => at <= share).length / ends.length;
  },
  "steps of 10 %": () => (share) => Math.floor(share * 10) / 10,
  /** Half of the progress in the first 30 % of the time, none for 40 %, and the rest in the last 30 %. */
  stalled: () => (share) =>
    share < 0.3 ? share / 0.6 : share < 0.7 ? 0.5 : Math.min(1, 0.5 + (share - 0.7) / 0.6),
  absent: () => () => undefined,
} satisfies Record<string, Shape>;

export type ShapeName = keyof typeof shapes;
