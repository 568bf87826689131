/**
 * Prints `N passed, N failed` from the exit codes of commands, some with vitest's JSON results. A test file that did
 * not load, and a command that failed without a failed test (an unhandled error, no results at all), count as one
 * failure each.
 * Usage: count.mjs (<exit code> | <exit code>:<results.json>)...
 */
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";

let passed = 0;
let failed = 0;
for (const argument of process.argv.slice(2)) {
  const [, code, path = ""] = /^(\d+)(?::(.+))?$/.exec(argument);
  const results = existsSync(path)
    ? JSON.parse(readFileSync(path, "utf8"))
    : { numPassedTests: 0, numFailedTests: 0, testResults: [] };
  const unloaded = results.testResults.filter(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some((assertion) => assertion.status === "failed"),
  );
  passed += results.numPassedTests;
  failed += Math.max(results.numFailedTests + unloaded.length, code === "0" ? 0 : 1);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
