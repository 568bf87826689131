/** Prints how large each room and page is beside its budget, so that growth in one place is paid for in another. */
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
  "provider/plugin/": [900, 13],
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
const patterns = ["*.ts", "*.tsx", "*.mjs", "*.css", "README.md", "docs/*.md"];
const { stdout } = await execa("git", ["ls-files", ...patterns]);
const files = stdout.split("\n").map((path) => ({ path, text: readTracked(path), room: roomOf(path) }));

const printRow = (name: string, ...cells: (string | number)[]): void =>
  console.log(name.padEnd(36) + cells.map((cell) => String(cell).padStart(8)).join(""));
const linesIn = (rooms: readonly string[]): number =>
  files
    .filter(({ room }) => rooms.includes(room))
    .reduce((sum, { text }) => sum + text.split("\n").length - 1, 0);

printRow("", "lines", "budget", "files", "budget");
for (const [name, [lines, count]] of Object.entries(ROOMS)) {
  printRow(name, linesIn([name]), lines, files.filter(({ room }) => room === name).length, count);
}
const packaged = Object.keys(ROOMS).filter((name) => /^(?:provider(?!\/fleet)|schema)\//.test(name));
printRow("provider without fleet, and schema", linesIn(packaged), OF_THE_PACKAGE);

printRow("\n", "bytes", "budget");
for (const { path, text } of files) {
  if (path.endsWith(".md")) printRow(path, Buffer.byteLength(text), bytesFor(path));
}

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
