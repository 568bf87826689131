/**
 * Prints `N passed, N failed` from vitest's JSON results. A test file that did not load, a run that failed without a
 * failed test (an unhandled error, no results at all), and each other command that failed count as one failure.
 * Usage: count.mjs <results.json> <exit code of the tests> <exit code of another command>...
 */
import { readFileSync } from "node:fs";
import process from "node:process";

const [path, test, ...others] = process.argv.slice(2);

const text = readFileSync(path, "utf8");
const results = text ? JSON.parse(text) : { numPassedTests: 0, numFailedTests: 0, testResults: [] };
const unloaded = results.testResults.filter(
  ({ status, assertionResults }) =>
    status === "failed" && !assertionResults.some((assertion) => assertion.status === "failed"),
);

let failed = results.numFailedTests + unloaded.length;
if (failed === 0 && test !== "0") failed += 1;
failed += others.filter((code) => code !== "0").length;
console.log(`${results.numPassedTests} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
