import { fstatSync } from "node:fs";

/** The SDK's script that the engine starts. Every other process that loads this module is somebody's own. */
const PROVIDER_SCRIPT = /[\\/]@pulumi[\\/]pulumi[\\/]cmd[\\/]dynamic-provider(?:[\\/]index\.js)?$/;

/**
 * Ends the provider process when its stdin ends, which is a pipe of the engine. Without this it outlives an engine that is
 * killed: its calls reach the service beside those of the next run, and each line that it prints fails with EPIPE, which the
 * SDK's script prints, without end.
 */
export function endWithEngine(): void {
  if (!PROVIDER_SCRIPT.test(process.argv[1] ?? "") || !isPipe(0)) return;
  process.stdin
    .once("close", () => process.exit())
    .resume()
    .unref();
}

function isPipe(fd: number): boolean {
  const stats = fstatSync(fd);
  return stats.isFIFO() || stats.isSocket();
}
