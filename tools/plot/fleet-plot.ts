import { parse, resetSVGDefIds, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { SPLIT_NAMES, type FleetFigures, type SizeFigures } from "../bench/fleet/figures.ts";

/** Apart also for people who do not tell red from green, and on paper: each line has its own dashes and points. */
const STYLES = {
  oneStack: { color: "#d55e00", shape: "square", dash: [1, 0] },
  oneStackWithoutCheckpoints: { color: "#7a5195", shape: "triangle-up", dash: [6, 4] },
  fleet: { color: "#0072b2", shape: "circle", dash: [1, 0] },
} as const satisfies Record<keyof typeof SPLIT_NAMES, object>;

const INK = "#24292f";
const AXIS = { format: ",d", tickCount: 6, labelFlush: false } as const;
const FAINT = "#d8dee4";

/** Time and memory by the number of workspaces, as an SVG that is the same for the same numbers on every machine. */
export async function drawFleetPlot({ sizes }: FleetFigures): Promise<string> {
  const { spec } = compile(describePlot(sizes));
  // Vega numbers the clip paths through the whole process.
  resetSVGDefIds();
  const view = new View(parse(spec), { renderer: "none" });
  try {
    return `${await view.toSVG()}\n`;
  } finally {
    view.finalize();
  }
}

function describePlot(sizes: readonly SizeFigures[]): TopLevelSpec {
  const measured = sizes.filter(({ peakMebibytes }) => peakMebibytes !== undefined);
  const values = sizes.map((size) => ({ ...size, splitName: SPLIT_NAMES[size.split] }));
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    description: "Time of pulumi up and peak memory by the number of workspaces: one stack and a fleet",
    // A background of its own: it is read on light and on dark pages.
    background: "white",
    padding: 16,
    data: { values },
    hconcat: [
      describePanel("upSeconds", "time of pulumi up (seconds)"),
      ...(measured.length > 0 ? [describePanel("peakMebibytes", "peak memory of all processes (MiB)")] : []),
    ],
    config: {
      font: "sans-serif",
      axis: {
        labelColor: INK,
        titleColor: INK,
        domainColor: INK,
        tickColor: INK,
        gridColor: FAINT,
        labelFontSize: 12,
        titleFontSize: 13,
        titleFontWeight: "normal",
        titlePadding: 10,
      },
      legend: {
        labelColor: INK,
        labelFontSize: 13,
        labelLimit: 0,
        symbolSize: 90,
        symbolStrokeWidth: 2,
        offset: 4,
      },
      view: { stroke: null },
      concat: { spacing: 24 },
    },
  } satisfies TopLevelSpec;
}

/** What tells the splits apart. All of it with one legend. */
const bySplit = <Value>(range: Value[]) =>
  ({
    field: "splitName",
    type: "nominal",
    scale: { domain: Object.values(SPLIT_NAMES), range },
    legend: { title: null, orient: "top", direction: "horizontal", columnPadding: 24 },
  }) as const;

function describePanel(field: "upSeconds" | "peakMebibytes", title: string) {
  const styles = Object.values(STYLES);
  return {
    width: 340,
    height: 260,
    mark: { type: "line", strokeWidth: 2.5, point: { size: 60, filled: true } },
    encoding: {
      x: { field: "workspaces", type: "quantitative", title: "workspaces", axis: AXIS },
      y: { field, type: "quantitative", title, axis: AXIS },
      color: bySplit(styles.map(({ color }) => color)),
      shape: bySplit(styles.map(({ shape }) => shape)),
      strokeDash: bySplit(styles.map(({ dash }) => [...dash])),
    },
  } as const;
}
