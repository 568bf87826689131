import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { findProjectFile, hasErrorCode } from "../../lib/files.js";
import { isOlder, MIN_PULUMI } from "../../lib/version.js";
import { parseYaml } from "../../lib/yaml-file.js";
import { textOf } from "../report-error.js";

export interface Finding {
  name: string;
  /** Only `failed` makes the exit code 1. */
  status: "ok" | "warning" | "failed" | "skipped";
  text: string;
  hint?: string;
}

/** Runs every check on `folder`, an absolute path. A check that does not apply there returns no finding. */
export async function runChecks(folder: string, signal: AbortSignal): Promise<Finding[]> {
  const projectFile = findProjectFile(folder);
  const findings = await Promise.all([
    checkPulumi(projectFile, signal),
    projectFile && checkPlugin(projectFile, signal).catch(failPlugin),
  ]);
  // If Node were too old, the command would have ended before this line.
  const node: Finding = { name: "Node.js", status: "ok", text: process.version };
  return [node, ...findings.flatMap((finding) => finding || [])];
}

/** Time limit of each process, in milliseconds. */
const LIMIT_MS = 10_000;

const INSTALL_PULUMI =
  `install Pulumi ${MIN_PULUMI} or newer, below 4: https://www.pulumi.com/docs/install/; ` +
  "or, in a clone, npm run engine";

/** Checks the Pulumi CLI on PATH. In a folder without a program, a problem is only a warning. */
async function checkPulumi(projectFile: string | undefined, signal: AbortSignal): Promise<Finding> {
  const fail = (text: string): Finding => ({
    name: "Pulumi CLI",
    status: projectFile === undefined ? "warning" : "failed",
    text,
    hint: INSTALL_PULUMI,
  });
  try {
    const version = (await runPulumi(["version"], signal)).trim();
    if (isOlder(version, MIN_PULUMI)) return fail(`${version} is too old; ${MIN_PULUMI} or newer is needed`);
    return { name: "Pulumi CLI", status: "ok", text: version };
  } catch (error) {
    return fail(hasErrorCode(error, "ENOENT") ? "not on PATH" : "pulumi version failed");
  }
}

async function runPulumi(args: readonly string[], signal: AbortSignal): Promise<string> {
  const env = { ...process.env, PULUMI_SKIP_UPDATE_CHECK: "true" };
  return (await execute("pulumi", args, { env, timeout: LIMIT_MS, signal })).stdout;
}

const execute = promisify(execFile);

/** Checks that the engine finds the plugin: in the folder that Pulumi.yaml names, or else among the installed ones. */
async function checkPlugin(projectFile: string, signal: AbortSignal): Promise<Finding | undefined> {
  const { runtime, packages } = parseYaml(await readFile(projectFile, "utf8"), projectShape, projectFile);
  // Every program needs the plugin, except a Node.js program whose Pulumi.yaml does not list it.
  if (runtime === "nodejs" && !("apichat" in packages)) return undefined;
  const name = "plugin";
  const plugin = pluginShape.safeParse(packages["apichat"]).data ?? "";
  // A source that is not a path, such as apichat@0.1.0, is looked up by the engine itself.
  if (/^[./~]|^[a-z]:/i.test(plugin)) {
    const program = dirname(projectFile);
    const folder = resolve(program, plugin);
    if (existsSync(folder)) return { name, status: "ok", text: folder };
    return {
      name,
      status: "failed",
      text: `${folder} does not exist`,
      hint: `run in ${program}: npm install`,
    };
  }
  const listed = await runPulumi(["plugin", "ls", "--json"], signal).catch(() => undefined);
  if (listed === undefined) return { name, status: "skipped", text: "pulumi plugin ls failed" };
  const versions = plugins
    .parse(JSON.parse(listed))
    .flatMap((one) => (one.name === "apichat" ? one.version : []));
  if (versions.length > 0) return { name, status: "ok", text: `installed: ${versions.join(", ")}` };
  const hint =
    "pulumi up downloads it if the SDK names a download server; otherwise, run " +
    "pulumi plugin install resource apichat VERSION --file ARCHIVE";
  return { name, status: "warning", text: "not installed", hint };
}

function failPlugin(error: unknown): Finding {
  return { name: "plugin", status: "failed", text: textOf(error), hint: "fix this problem, and try again" };
}

const plugins = z.array(z.object({ name: z.string(), version: z.string().default("unknown version") }));

const projectShape = z.object({
  runtime: z.union([z.string(), z.object({ name: z.string() }).transform(({ name }) => name)]),
  packages: z.record(z.string(), z.unknown()).default({}),
});

const pluginShape = z.union([z.string(), z.object({ source: z.string() }).transform(({ source }) => source)]);
