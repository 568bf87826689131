import { type Check, execute, failed, type Finding, ok, warning } from "./check.js";
import { isOlder, MIN_NODE, MIN_PULUMI, majorOf } from "../../lib/version.js";

/** Checks the Node.js that runs this, which also runs the programs. */
export const checkNode: Check = () => {
  const { version } = process;
  if (!isOlder(version, MIN_NODE)) return ok(version);
  return failed(`${version} is too old`, `install Node.js ${MIN_NODE} or newer: https://nodejs.org`);
};

const HINT = `install Pulumi ${MIN_PULUMI} or newer, below 4: https://www.pulumi.com/docs/install/`;

/** Checks Pulumi's command line on PATH. Without a program nothing here needs it. */
export const checkPulumi: Check = async (facts) => {
  const environment = { ...facts.environment, PULUMI_SKIP_UPDATE_CHECK: "true" };
  const found = await execute("pulumi", ["version"], { ...facts, environment });
  const finding = "code" in found ? judgeFailure(found.code) : judgeOutput(found.stdout.trim());
  const isNeeded = facts.projectFile !== undefined;
  return finding.status === "failed" && !isNeeded ? { ...finding, status: "warning" } : finding;
};

const judgeFailure = (code: string): Finding =>
  code === "ENOENT"
    ? failed("not on PATH", `${HINT}; or, in a clone, npm run engine`)
    : failed(`pulumi version fails (${code})`, `run it by hand, or ${HINT}`);

const judgeOutput = (version: string): Finding =>
  /^v?\d+\.\d+/.test(version)
    ? judgeVersion(version, HINT)
    : failed("pulumi version prints no version", HINT);

/** Judges the version of Pulumi, or of a library of it. */
export function judgeVersion(version: string, hint: string): Finding {
  if (isOlder(version, MIN_PULUMI)) {
    return failed(`${version} is too old; ${MIN_PULUMI} or newer is needed`, hint);
  }
  return majorOf(version) > majorOf(MIN_PULUMI)
    ? warning(`${version} is newer than the versions that this package supports`, hint)
    : ok(version);
}
