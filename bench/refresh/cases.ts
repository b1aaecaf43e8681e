/** A number of reads, the number of concurrent reads, and the number of instances in the project. */
export interface Case {
  readonly reads: number;
  readonly held: number;
  readonly parallel: number;
  readonly order: "as listed" | "random";
}

const BIG = 10_000;

/** @param most the largest number of reads */
export function casesOf(parallels: readonly number[], most: number): Case[] {
  const whole = [1, 5, 100, 500, 2_000].filter((reads) => reads <= most);
  const part = [1, 5, 20, 100, 500].filter((reads) => reads <= most);
  const orders = ["as listed", "random"] as const;
  return [
    ...whole.flatMap((reads) =>
      orders.flatMap((order) => parallels.map((parallel) => ({ reads, held: reads, parallel, order }))),
    ),
    // A few instances of a large project are spread over the list in any order.
    ...part.flatMap((reads) =>
      parallels.map((parallel) => ({ reads, held: BIG, parallel, order: "random" as const })),
    ),
  ];
}
