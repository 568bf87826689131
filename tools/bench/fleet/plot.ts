import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { SPLIT_NAMES, type FleetFigures, type SizeFigures } from "./figures.ts";

const WIDTH = 340;
const HEIGHT = 260;
const LEFT = 80;
const TOP = 60;
const PANEL = WIDTH + LEFT + 24;
const INK = "#24292f";

/** Apart also for people who do not distinguish red from green, and on paper: each line has its own dashes and points. */
const STYLES: Record<keyof typeof SPLIT_NAMES, { color: string; dash: string; point: string }> = {
  oneStack: { color: "#d55e00", dash: "", point: "M-4-4h8v8h-8z" },
  oneStackWithoutCheckpoints: { color: "#7a5195", dash: "6 4", point: "M0-5l5 9h-10z" },
  fleet: { color: "#0072b2", dash: "", point: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z" },
};

/** Time and memory by the number of workspaces, as an SVG on a background of its own: it is read on light and dark pages. */
export function drawFleetPlot({ sizes }: FleetFigures): string {
  const panels = [
    { field: "upSeconds", title: "time of pulumi up (seconds)" },
    { field: "peakMebibytes", title: "peak memory of all processes (MiB)" },
  ] as const;
  const shown = panels.filter(({ field }) => sizes.some((size) => size[field] !== undefined));
  const [width, height] = [PANEL * shown.length + 24, HEIGHT + TOP + 70];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12" fill="${INK}">`,
    `<title>Time of pulumi up and peak memory by the number of workspaces: one stack and a fleet</title>`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    ...Object.entries(SPLIT_NAMES).map(([split, name], index) => {
      const x = LEFT + index * 230 - (index > 1 ? -90 : 0);
      return `${line(split as keyof typeof SPLIT_NAMES, [
        [x, 24],
        [x + 28, 24],
      ])}<text x="${x + 40}" y="28">${name}</text>`;
    }),
    ...shown.map(({ field, title }, index) => drawPanel(sizes, field, title, LEFT + index * PANEL)),
    "</svg>\n",
  ].join("\n");
}

function drawPanel(
  sizes: readonly SizeFigures[],
  field: "upSeconds" | "peakMebibytes",
  title: string,
  left: number,
): string {
  const points = sizes.flatMap(({ split, workspaces, [field]: value }) =>
    value === undefined ? [] : [{ split, workspaces, value }],
  );
  const xStep = stepFor(Math.max(...points.map(({ workspaces }) => workspaces)));
  const yStep = stepFor(Math.max(...points.map(({ value }) => value)));
  const xOf = (workspaces: number): number => Math.round(left + (workspaces / (5 * xStep)) * WIDTH);
  const yOf = (value: number): number => Math.round(TOP + HEIGHT - (value / (5 * yStep)) * HEIGHT);
  const bottom = TOP + HEIGHT;
  const grid = [0, 1, 2, 3, 4, 5].map((tick) => {
    const [x, y] = [xOf(tick * xStep), yOf(tick * yStep)];
    return [
      `<path d="M${x} ${TOP}V${bottom}M${left} ${y}H${left + WIDTH}" stroke="#d8dee4" fill="none"/>`,
      `<text x="${x}" y="${bottom + 18}" text-anchor="middle">${(tick * xStep).toLocaleString("en-US")}</text>`,
      `<text x="${left - 8}" y="${y + 4}" text-anchor="end">${(tick * yStep).toLocaleString("en-US")}</text>`,
    ].join("\n");
  });
  const middle = TOP + HEIGHT / 2;
  return [
    ...grid,
    `<text x="${left + WIDTH / 2}" y="${bottom + 44}" text-anchor="middle">workspaces</text>`,
    `<text x="${left - 56}" y="${middle}" text-anchor="middle" transform="rotate(-90 ${left - 56} ${middle})">${title}</text>`,
    ...(Object.keys(STYLES) as (keyof typeof STYLES)[]).map((split) =>
      line(
        split,
        points
          .filter((point) => point.split === split)
          .map(({ workspaces, value }) => [xOf(workspaces), yOf(value)]),
      ),
    ),
  ].join("\n");
}

/** A line through these points, with the marks of its split. */
function line(split: keyof typeof STYLES, points: readonly (readonly [number, number])[]): string {
  const { color, dash, point } = STYLES[split];
  const through = points.map(([x, y]) => `${x},${y}`).join(" ");
  const marks = points.map(
    ([x, y]) => `<path d="${point}" transform="translate(${x} ${y})" fill="${color}"/>`,
  );
  return `<polyline points="${through}" stroke="${color}" stroke-width="2.5" stroke-dasharray="${dash}" fill="none"/>${marks.join("")}`;
}

/** A round number, five of which reach `most`. */
function stepFor(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most / 5));
  return [1, 2, 2.5, 4, 5, 10].map((factor) => factor * power).find((step) => step * 5 >= most) ?? most;
}

const folder = new URL("../results/", import.meta.url);

/** The numbers that docs/figures.md shows, and their plot. */
export const resultFiles = {
  figures: fileURLToPath(new URL("fleet.json", folder)),
  plot: fileURLToPath(new URL("../../../docs/images/fleet.svg", import.meta.url)),
};

/** Keeps the numbers and draws them. Gives the files that it wrote. */
export async function writeFigures(figures: FleetFigures): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  await writeFile(resultFiles.figures, `${JSON.stringify(figures, undefined, 2)}\n`);
  await writeFile(resultFiles.plot, drawFleetPlot(figures));
  return Object.values(resultFiles);
}

export async function readFigures(): Promise<FleetFigures> {
  return JSON.parse(await readFile(resultFiles.figures, "utf8")) as FleetFigures;
}
