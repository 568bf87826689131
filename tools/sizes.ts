/**
 * Prints how large each room is beside its budget, so that growth in one place is paid for in another. Lines are those of
 * the source files that git knows. Exit code 1 if a total or a page of the documentation is over its budget.
 */
import Table from "cli-table3";
import { execa } from "execa";
import { readFileSync } from "node:fs";
import process from "node:process";

/** Lines and files. A file counts for the longest name here that its path begins with. */
const ROOMS: Record<string, readonly [lines: number, files: number]> = {
  "provider/index.ts": [40, 1],
  "provider/dynamic.ts": [60, 1],
  "provider/errors/": [300, 3],
  "provider/lib/": [1150, 11],
  "provider/webhook/": [1300, 7],
  "provider/verification-key/": [350, 4],
  "provider/handshake-responder/": [1150, 9],
  "provider/client/": [1300, 8],
  "provider/diagnosis/": [870, 8],
  "provider/responder/": [1350, 18],
  "provider/server/": [2600, 16],
  "provider/workspace-list/": [500, 5],
  "provider/emulator/": [4600, 36],
  "provider/emulator/page/": [4200, 48],
  "provider/fleet/": [2500, 18],
  "provider/cli/": [4400, 42],
  "provider/": [0, 0],
  "schema/": [800, 12],
  "tools/": [4000, 50],
  "test/": [30_000, 220],
};
const OF_THE_PACKAGE = 25_000;
const bytesFor = (page: string): number => (page === "README.md" ? 10 * 1024 : 15 * 1024);

process.chdir(new URL("..", import.meta.url).pathname);
const { stdout } = await execa("git", [
  "ls-files",
  "*.ts",
  "*.tsx",
  "*.mjs",
  "*.css",
  "README.md",
  "docs/*.md",
]);
const files = stdout.split("\n").map((path) => ({ path, text: readTracked(path), room: roomOf(path) }));

const table = new Table({
  head: ["", "lines", "budget", "files", "budget"],
  colAligns: ["left", "right", "right", "right", "right"],
  chars: { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" },
  style: { head: [], border: [] },
});
const limit = (actual: number, most: number): [string, number] => [
  `${actual}${actual > most ? " !" : ""}`,
  most,
];
const linesIn = (rooms: readonly string[]): number =>
  files
    .filter(({ room }) => rooms.includes(room))
    .reduce((sum, { text }) => sum + text.split("\n").length - 1, 0);
for (const [name, [lines, count]] of Object.entries(ROOMS)) {
  const own = files.filter(({ room }) => room === name);
  table.push([name, ...limit(linesIn([name]), lines), ...limit(own.length, count)]);
}
const packaged = Object.keys(ROOMS).filter((name) => /^(?:provider(?!\/fleet)|schema)\//.test(name));
table.push(["provider without fleet, and schema", ...limit(linesIn(packaged), OF_THE_PACKAGE), "", ""]);
console.log(table.toString());

const pages = files.filter(({ path }) => path.endsWith(".md"));
for (const { path, text } of pages) {
  console.log(`${path}: ${limit(Buffer.byteLength(text), bytesFor(path)).join(" of ")} bytes`);
}
const isOver =
  linesIn(packaged) > OF_THE_PACKAGE ||
  ["tools/", "test/"].some((name) => linesIn([name]) > (ROOMS[name]?.[0] ?? 0)) ||
  pages.some(({ path, text }) => Buffer.byteLength(text) > bytesFor(path));
if (isOver) process.exitCode = 1;

function roomOf(path: string): string {
  const names = Object.keys(ROOMS).filter((name) => path.startsWith(name));
  return names.toSorted((one, other) => other.length - one.length)[0] ?? "";
}

/** Empty for a file that is deleted and not yet committed. */
function readTracked(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
