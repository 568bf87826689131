/**
 * Prints how large each room is beside its budget, so that growth in one place is paid for in another. Lines are those of
 * the source files that git knows. Exit code 1 if a total is over its budget.
 */
import Table from "cli-table3";
import { execa } from "execa";
import { readFileSync } from "node:fs";
import process from "node:process";

interface Budget {
  name: string;
  lines: number;
  files?: number;
  isCounted: (path: string) => boolean;
}

const folder =
  (...folders: string[]) =>
  (path: string): boolean =>
    folders.some((name) => path.startsWith(`${name}/`));

const room = (name: string, lines: number, files: number): Budget => ({
  name: `provider/${name}`,
  lines,
  files,
  isCounted: (path) => path === `provider/${name}` || path.startsWith(`provider/${name}/`),
});

const isPage = folder("provider/emulator/page");

const rooms: readonly Budget[] = [
  room("index.ts", 40, 1),
  room("dynamic.ts", 60, 1),
  room("errors", 300, 3),
  room("lib", 1150, 11),
  room("webhook", 1300, 7),
  room("verification-key", 350, 4),
  room("handshake-responder", 1150, 9),
  room("client", 1300, 8),
  room("diagnosis", 870, 8),
  room("responder", 1350, 18),
  room("server", 2600, 16),
  room("workspace-list", 500, 5),
  {
    name: "provider/emulator without page",
    lines: 4600,
    files: 36,
    isCounted: (path) => folder("provider/emulator")(path) && !isPage(path),
  },
  room("emulator/page", 4200, 48),
  room("fleet", 2500, 18),
  room("cli", 4400, 42),
  { name: "schema", lines: 800, files: 12, isCounted: folder("schema") },
];

const totals: readonly Budget[] = [
  {
    name: "provider without fleet, and schema",
    lines: 25_000,
    isCounted: (path) => folder("provider", "schema")(path) && !folder("provider/fleet")(path),
  },
  { name: "tools", lines: 4000, files: 50, isCounted: folder("tools") },
  { name: "test", lines: 30_000, files: 220, isCounted: folder("test") },
];

const { stdout } = await execa("git", ["ls-files"], { cwd: new URL("..", import.meta.url) });
const tracked = stdout.split("\n").map((path) => ({ path, text: readTracked(path) }));
const sources = tracked.filter(({ path }) => /\.(?:ts|tsx|mjs|css)$/.test(path));

const table = new Table({
  head: ["", "lines", "budget", "files", "budget"],
  colAligns: ["left", "right", "right", "right", "right"],
  chars: { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" },
  style: { head: [], border: [] },
});
for (const budget of rooms) addRow(budget);
const other = sources.filter(
  ({ path }) => folder("provider", "schema")(path) && !rooms.some(({ isCounted }) => isCounted(path)),
);
if (other.length > 0) table.push(["provider, in no room", countLines(other), "-", other.length, "-"]);
const isOver = totals.map(addRow).includes(true);

const pages = tracked
  .filter(({ path }) => path === "README.md" || /^docs\/.*\.md$/.test(path))
  .map(({ path, text }) => {
    const limit = path === "README.md" ? 10 * 1024 : 15 * 1024;
    const bytes = Buffer.byteLength(text);
    return { line: `${path}: ${bytes} of ${limit} bytes${mark(bytes, limit)}`, isOver: bytes > limit };
  });

console.log(table.toString());
for (const { line } of pages) console.log(line);
if (isOver || pages.some((page) => page.isOver)) process.exitCode = 1;

/** Adds a row; true if it has more lines than it may. */
function addRow({ name, lines, files, isCounted }: Budget): boolean {
  const counted = sources.filter(({ path }) => isCounted(path));
  const actual = countLines(counted);
  table.push([
    name,
    `${actual}${mark(actual, lines)}`,
    lines,
    `${counted.length}${mark(counted.length, files ?? Infinity)}`,
    files ?? "-",
  ]);
  return actual > lines;
}

function countLines(files: readonly { text: string }[]): number {
  return files.reduce((sum, { text }) => sum + text.split("\n").length - 1, 0);
}

function mark(actual: number, budget: number): string {
  return actual > budget ? " !" : "";
}

/** Empty for a file that is deleted and not yet committed. */
function readTracked(path: string): string {
  try {
    return readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
  } catch {
    return "";
  }
}
