import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type Check, failed, type Finding, findProgram, ok, type Surroundings, warning } from "./check.js";
import { isOlder, MIN_NODE, MIN_PULUMI, majorOf } from "../../lib/version.js";

const run = promisify(execFile);

/** The Node that runs this, which runs the programs too. */
export const nodeCheck: Check = {
  name: "Node.js",
  run: () => {
    const { version } = process;
    if (!isOlder(version, MIN_NODE)) return ok(version);
    return failed(`${version} is too old`, `install Node.js ${MIN_NODE} or newer: https://nodejs.org`);
  },
};

/** Pulumi's command line on PATH. Without a program nothing here needs it. */
export const pulumiCheck: Check = {
  name: "Pulumi CLI",
  run: async (surroundings) => {
    const finding = judgePulumi(await askVersion(surroundings));
    const isNeeded = (await findProgram(surroundings.folder)) !== undefined;
    return finding.status === "failed" && !isNeeded ? { ...finding, status: "warning" } : finding;
  },
};

const HINT = `install Pulumi ${MIN_PULUMI} or newer, below 4: https://www.pulumi.com/docs/install/`;

/** The version that it prints, or the code of why it prints none. */
type Asked = { version: string } | { code: string };

async function askVersion({ environment, limitMs, signal }: Surroundings): Promise<Asked> {
  try {
    const env = { ...environment, PULUMI_SKIP_UPDATE_CHECK: "true" };
    const { stdout } = await run("pulumi", ["version"], { env, timeout: limitMs, signal });
    return { version: stdout.trim() };
  } catch (error) {
    if (signal.aborted) throw error;
    const { code, killed } = error as { code?: string | number; killed?: boolean };
    return { code: killed ? `no answer in ${limitMs / 1000} s` : String(code) };
  }
}

function judgePulumi(asked: Asked): Finding {
  if ("code" in asked) {
    if (asked.code === "ENOENT") return failed("not on PATH", `${HINT}; or, in a clone, npm run engine`);
    return failed(`pulumi version fails (${asked.code})`, `run it by hand, or ${HINT}`);
  }
  const { version } = asked;
  if (!/^v?\d+\.\d+/.test(version)) return failed("pulumi version prints no version", HINT);
  if (isOlder(version, MIN_PULUMI)) return failed(`${version} is too old`, HINT);
  if (majorOf(version) > majorOf(MIN_PULUMI)) {
    return warning(`${version} is newer than what this was made for`, HINT);
  }
  return ok(version);
}
