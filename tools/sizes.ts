/**
 * `npm run sizes`, a step of `npm run check`: prints how many lines each room (a part of the code) has, and
 * its budget. Fails if a room exceeds its budget by more than 5%.
 */
import { execa } from "execa";
import { readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** A room may exceed its budget by this share, so that one more necessary line does not fail the check. */
const SLACK = 0.05;

/**
 * The budget of each room, in lines. When you remove code, lower the room's budget to the lines that remain;
 * never raise it. A file belongs to the room with the longest name that its path begins with.
 */
const ROOMS: Record<string, number> = {
  "provider/index.ts": 31,
  "provider/dynamic.ts": 46,
  "provider/plugin/": 857,
  "provider/errors/": 524,
  "provider/lib/": 1422,
  "provider/pulumi/": 449,
  "provider/registration/": 813,
  "provider/webhook/": 1460,
  "provider/verification-key/": 380,
  "provider/handshake-responder/": 979,
  "provider/client/": 888,
  "provider/diagnosis/": 968,
  "provider/responder/": 1457,
  "provider/server/": 2959,
  "provider/workspace-list/": 257,
  "provider/emulator/": 3825,
  "provider/emulator/page/": 1833,
  "provider/fleet/": 2012,
  "provider/cli/": 3617,
  "schema/": 721,
  "tools/": 3997,
  "test/": 26_984,
};
/** The budget of everything that is published. */
const PROVIDER_AND_SCHEMA = 25_500;

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const { stdout } = await execa("git", ["ls-files", "--", "provider", "schema", "tools", "test"]);
const lines = Object.fromEntries(Object.keys(ROOMS).map((room) => [room, 0]));
for (const path of stdout.split("\n").filter((name) => /\.(?:tsx?|mjs|css)$/.test(name))) {
  const rooms = Object.keys(ROOMS).filter((name) => path.startsWith(name));
  const room = rooms.toSorted((one, other) => other.length - one.length)[0];
  if (room === undefined) throw new Error(`${path} is in no room of tools/sizes.ts`);
  lines[room] = (lines[room] ?? 0) + countLines(path);
}
let published = 0;
for (const [room, limit] of Object.entries(ROOMS)) {
  const found = lines[room] ?? 0;
  print(room, found, limit);
  if (/^(?:provider|schema)\//.test(room)) published += found;
}
print("provider and schema", published, PROVIDER_AND_SCHEMA);

function print(room: string, found: number, limit: number): void {
  const isOver = found > limit * (1 + SLACK);
  if (isOver) process.exitCode = 1;
  const counts = [found, limit].map((count) => String(count).padStart(8)).join("");
  console.log(`${room.padEnd(32)}${counts}${isOver ? `  OVER by ${found - limit}` : ""}`);
}

/** Returns 0 for a deleted file that git still lists, because the deletion is not yet committed. */
function countLines(path: string): number {
  try {
    return readFileSync(path, "utf8").split("\n").length - 1;
  } catch {
    return 0;
  }
}
