import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { hasErrorCode } from "../../lib/files.js";
import { isOlder, MIN_PULUMI } from "../../lib/version.js";
import { parseYaml } from "../../lib/yaml-file.js";
import { failed, LIMIT_MS, ok, skipped, warning } from "./check.js";
import type { DoctorCheck, DoctorFacts, Finding } from "./check.js";

/** Checks Pulumi's command line on PATH. Without a program nothing here needs it. */
export const checkPulumi: DoctorCheck = async (facts) => {
  const finding = await readPulumi(facts);
  const isNeeded = facts.projectFile !== undefined;
  return finding.status === "failed" && !isNeeded ? { ...finding, status: "warning" } : finding;
};

async function readPulumi({ signal }: DoctorFacts): Promise<Finding> {
  const hint =
    `install Pulumi ${MIN_PULUMI} or newer, below 4: https://www.pulumi.com/docs/install/; ` +
    "or, in a clone, npm run engine";
  try {
    const version = (await runPulumi(["version"], signal)).trim();
    if (isOlder(version, MIN_PULUMI)) {
      return failed(`${version} is too old; ${MIN_PULUMI} or newer is needed`, hint);
    }
    return ok(version);
  } catch (error) {
    if (signal.aborted) throw error;
    return failed(hasErrorCode(error, "ENOENT") ? "not on PATH" : "pulumi version fails", hint);
  }
}

async function runPulumi(args: readonly string[], signal: AbortSignal): Promise<string> {
  const env = { ...process.env, PULUMI_SKIP_UPDATE_CHECK: "true" };
  return (await execute("pulumi", args, { env, timeout: LIMIT_MS, signal })).stdout;
}

const execute = promisify(execFile);

/** Checks that the engine finds the resource plugin: in the folder that Pulumi.yaml names, or installed. */
export const checkPlugin: DoctorCheck = async ({ projectFile, signal }) => {
  if (projectFile === undefined) return undefined;
  const { runtime, packages } = parseYaml(await readFile(projectFile, "utf8"), projectShape, projectFile);
  // Every program except one of Node.js that does not name the plugin.
  if (runtime === "nodejs" && !("apichat" in packages)) return undefined;
  const plugin = pluginShape.safeParse(packages["apichat"]).data ?? "";
  // Anything else, such as apichat@0.1.0, the engine looks up itself.
  if (/^[./~]|^[a-z]:/i.test(plugin)) {
    const program = dirname(projectFile);
    const folder = resolve(program, plugin);
    return existsSync(folder)
      ? ok(folder)
      : failed(`${folder} does not exist`, `run in ${program}: npm install`);
  }
  const listed = await runPulumi(["plugin", "ls", "--json"], signal).catch(() => undefined);
  signal.throwIfAborted();
  if (listed === undefined) return skipped("pulumi plugin ls fails");
  const versions = plugins
    .parse(JSON.parse(listed))
    .flatMap(({ name, version }) => (name === "apichat" ? version : []));
  if (versions.length > 0) return ok(`installed: ${versions.join(", ")}`);
  return warning(
    "not installed",
    "pulumi up downloads it if the SDK names a server; else: " +
      "pulumi plugin install resource apichat VERSION --file ARCHIVE",
  );
};

const plugins = z.array(z.object({ name: z.string(), version: z.string().default("of no version") }));

const projectShape = z.object({
  runtime: z.union([z.string(), z.object({ name: z.string() }).transform(({ name }) => name)]),
  packages: z.record(z.string(), z.unknown()).default({}),
});

const pluginShape = z.union([z.string(), z.object({ source: z.string() }).transform(({ source }) => source)]);
