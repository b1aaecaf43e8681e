import { writeFileSync } from "node:fs";
import type { TopLevelSpec } from "vega-lite";

export interface Point {
  readonly x: number;
  readonly y: number;
  /** Title of the point's panel, if the plot has several. */
  readonly panel?: string | undefined;
  /** Text beside the point. */
  readonly label?: string | undefined;
}

export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

export interface Axis {
  readonly title: string;
  readonly scale: "linear" | "log";
}

export interface Plot {
  readonly x: Axis;
  readonly y: Axis;
  /** In the order of the legend. The first series is drawn on top of the others. */
  readonly series: readonly Series[];
  /** Whether lines connect the points of a series. */
  readonly joined: boolean;
  /** Number of panels beside each other. @default 1 */
  readonly columns?: number;
}

type Layers = Pick<Extract<TopLevelSpec, { layer: unknown }>, "encoding" | "layer">;

/** A palette that is safe for color-blind readers (Okabe and Ito). */
const COLOURS = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#7f7f7f", "#e69f00", "#000000"];
const MARKS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "stroke", "wedge"];

/** Draws points or lines as an SVG on white, which is also readable on dark pages. */
export async function drawPlot(file: string, plot: Plot): Promise<void> {
  // Both are ES modules, and only plots need them.
  const [vega, { compile }] = await Promise.all([import("vega"), import("vega-lite")]);
  const view = new vega.View(vega.parse(compile(specOf(plot)).spec), { renderer: "none" });
  const svg = await view.toSVG();
  view.finalize();
  writeFileSync(file, `${svg}\n`);
}

function specOf({ x, y, series, joined, columns }: Plot): TopLevelSpec {
  const names = series.map(({ name }) => name);
  const values = series
    .toReversed()
    .flatMap(({ name, points }) => points.map((point) => ({ ...point, label: point.label ?? "", name })));
  const panels = [...new Set(series.flatMap(({ points }) => points.flatMap(({ panel }) => panel ?? [])))];
  const legend = { title: null, orient: "top", columns: 3, symbolSize: 90, labelLimit: 300 } as const;
  const scaleOf = (field: "x" | "y", { scale }: Axis) =>
    scale === "log"
      ? { type: scale, nice: false, domain: roomAround(values.map((value) => value[field])) }
      : { type: scale, nice: true };
  const axisOf = (field: "x" | "y", { scale }: Axis) => ({
    gridColor: "#e4e4e4",
    labelOverlap: true,
    format: "~g",
    ...(scale === "log" ? { values: powersOfTen(values.map((value) => value[field])) } : { tickCount: 5 }),
  });
  const layers: Layers = {
    encoding: {
      x: {
        field: "x",
        type: "quantitative",
        title: x.title,
        scale: scaleOf("x", x),
        axis: axisOf("x", x),
      },
      y: {
        field: "y",
        type: "quantitative",
        title: y.title,
        scale: scaleOf("y", y),
        axis: axisOf("y", y),
      },
      color: { field: "name", type: "nominal", legend, scale: { domain: names, range: COLOURS } },
    },
    layer: [
      ...(joined ? [{ mark: { type: "line" as const, strokeWidth: 2 } }] : []),
      {
        mark: { type: "point", filled: true, size: 80, opacity: 0.95 },
        encoding: {
          shape: { field: "name", type: "nominal", legend, scale: { domain: names, range: MARKS } },
        },
      },
      {
        mark: { type: "text", align: "left", dx: 5, dy: 11, fontSize: 10, color: "#333333" },
        encoding: { text: { field: "label" }, color: { value: "#333333" } },
      },
    ],
  };
  const size = panels.length > 0 ? { width: 170, height: 230 } : { width: 560, height: 340 };
  const common = { background: "white", padding: 12, data: { values } } as const;
  if (panels.length === 0) return { ...common, ...size, ...layers };
  const header = { labelFontSize: 12 };
  return {
    ...common,
    facet: { field: "panel", type: "nominal", sort: panels, title: null, header },
    columns: columns ?? 1,
    spec: { ...size, ...layers },
  };
}

/** Extends a logarithmic axis, so that marks at its ends are fully visible. */
function roomAround(values: readonly number[]): [number, number] {
  return [Math.min(...values) / 1.6, Math.max(...values) * 1.6];
}

function powersOfTen(values: readonly number[]): number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(Math.log10);
  const [from, to] = [Math.floor(least ?? 0), Math.ceil(most ?? 0)];
  return Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at));
}
