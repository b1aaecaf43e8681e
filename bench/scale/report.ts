import { MB } from "../provider/memory";
import { median, spreadText } from "../statistics";
import { type Row, tableOf } from "../table";
import type { Cost } from "./life";
import type { StepName } from "./steps";

/** The costs of stacks of one size. */
export interface Measured {
  readonly instances: number;
  readonly costs: readonly Cost[];
}

const FIGURES = [
  { name: "CPU, ms", of: (cost: Cost) => cost.cpuMs, digits: 2 },
  { name: "wall, ms", of: (cost: Cost) => cost.wallMs, digits: 2 },
  { name: "heap, kB", of: (cost: Cost) => cost.heap / 1_024, digits: 2 },
] as const;

function stepsOf(measured: readonly Measured[]): StepName[] {
  return [...new Set(measured.flatMap(({ costs }) => costs.map(({ step }) => step)))];
}

/** Formats the figures of each command, by size. */
export function costsTable(measured: readonly Measured[]): string {
  const rows = stepsOf(measured).flatMap((step) =>
    FIGURES.map(
      ({ name, of, digits }): Row => [
        step,
        name,
        ...measured.map(({ costs }) =>
          spreadText(costs.filter((cost) => cost.step === step).map(of), digits),
        ),
      ],
    ),
  );
  return tableOf(["command", "", ...measured.map(({ instances }) => `${instances}`)], rows);
}

/** Formats the figures of all commands together, and of each one, as multiples of those of the first size. */
export function ratiosTable(measured: readonly Measured[]): string {
  const [first] = measured;
  const ratios = (of: (measured: Measured) => number): string[] =>
    measured.map((one) => (of(one) / (first === undefined ? 1 : of(first))).toFixed(2));
  const of = (figure: (cost: Cost) => number, steps: readonly StepName[]) => (one: Measured) =>
    steps.reduce((sum, step) => sum + median(one.costs.filter((cost) => cost.step === step).map(figure)), 0);
  const all = stepsOf(measured);
  const rows = [["all commands", all] as const, ...all.map((step) => [step, [step]] as const)].flatMap(
    ([words, steps]) =>
      FIGURES.map((figure): Row => [words, figure.name.split(",")[0] ?? "", ...ratios(of(figure.of, steps))]),
  );
  return tableOf(["command", "", ...measured.map(({ instances }) => `${instances}`)], rows);
}

/** Formats the largest memory size of each process: Node, the loaded code, and the stack. */
export function peaksTable(measured: readonly Measured[]): string {
  const peaks = measured.map(({ costs }) => Math.max(...costs.map(({ peak }) => peak)));
  const [first = 0] = peaks;
  return tableOf(
    ["instances", "max. memory", "increase per additional instance"],
    measured.map(({ instances }, at): Row => {
      const more = instances - (measured[0]?.instances ?? 0);
      const each = more === 0 ? "" : `${(((peaks[at] ?? 0) - first) / more / 1_024).toFixed(1)} kB`;
      return [`${instances}`, `${((peaks[at] ?? 0) / MB).toFixed(0)} MB`, each];
    }),
  );
}

/** Formats the number of requests by kind. */
export function requestsTable(measured: readonly Measured[]): string {
  const rows = stepsOf(measured).flatMap((step) => {
    const found = measured.map(({ instances, costs }) => {
      const requests = costs.find((cost) => cost.step === step)?.requests ?? {};
      return { instances, requests };
    });
    const kinds = [...new Set(found.flatMap(({ requests }) => Object.keys(requests)))];
    return kinds
      .map(
        (kind): Row => [
          step,
          kind,
          ...found.map(({ instances, requests }) => ((requests[kind] ?? 0) / instances).toFixed(3)),
        ],
      )
      .filter((row) => row.slice(2).some((figure) => Number(figure) > 0));
  });
  return tableOf(["command", "request", ...measured.map(({ instances }) => `${instances}`)], rows);
}
