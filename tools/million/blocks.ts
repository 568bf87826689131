/** Preloaded into a responder. At the responder's exit, writes for how many ms its event loop was blocked at most. */
import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { isMainThread } from "node:worker_threads";

/** The measurement begins after this time, so that it excludes the responder's start-up. */
const START_MS = 1_000;

if (isMainThread) {
  const blocks = monitorEventLoopDelay({ resolution: 1 });
  setTimeout(() => blocks.enable(), START_MS).unref();
  process.on("exit", () => writeFileSync(String(process.env["BLOCKS_FILE"]), String(blocks.max / 1e6)));
}
