/** Reads of so many instances, so many at a time, of a project that holds so many. */
export interface Case {
  readonly reads: number;
  readonly held: number;
  readonly parallel: number;
  readonly order: "the list's" | "mixed";
}

const BIG = 10_000;

/** @param most leaves larger stacks out */
export function casesOf(parallels: readonly number[], most: number): Case[] {
  const whole = [1, 5, 100, 500, 2_000].filter((reads) => reads <= most);
  const part = [1, 5, 20, 100, 500].filter((reads) => reads <= most);
  const orders = ["the list's", "mixed"] as const;
  return [
    ...whole.flatMap((reads) =>
      orders.flatMap((order) => parallels.map((parallel) => ({ reads, held: reads, parallel, order }))),
    ),
    // A few of many are spread over the list in any case.
    ...part.flatMap((reads) =>
      parallels.map((parallel) => ({ reads, held: BIG, parallel, order: "mixed" as const })),
    ),
  ];
}
