/**
 * Prints `N passed, N failed` from vitest's JSON results and the exit code of the run. A test file that did not load
 * counts as one failure, and so does an exit code other than 0 without any other failure.
 * Usage: count.mjs <exit code> <results.json>...
 */
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";

const [code, ...paths] = process.argv.slice(2);
let passed = 0;
let failed = 0;
for (const path of paths.filter((one) => existsSync(one))) {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(path, "utf8"));
  const unloaded = testResults.filter(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some((assertion) => assertion.status === "failed"),
  );
  passed += numPassedTests;
  failed += numFailedTests + unloaded.length;
}
if (code !== "0") failed = Math.max(failed, 1);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
