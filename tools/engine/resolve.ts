import { chmod, copyFile, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { inClone } from "../lib/clone.ts";
import { withProgress } from "../lib/progress.mjs";
import { CommandError, run } from "../lib/run.ts";
import { cacheEntry, fillEntry } from "./cache.ts";
import { findEngine, inspectEngine, type Engine } from "./engine.ts";
import { buildGoTools, MIN_GO, sourcesOf, type GoTool, type WorkOptions } from "./go-tools.ts";

const SDK = "github.com/pulumi/pulumi/sdk/v3";

/** Each tool has its own go.mod, because the two need different versions of the same dependency. */
const engineTools: readonly GoTool[] = [
  {
    module: new URL("cli/", import.meta.url),
    package: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    binary: "pulumi",
    version: `${SDK}/go/common/version.Version=v3.259.0`,
  },
  {
    module: new URL("nodejs-host/", import.meta.url),
    package: `${SDK}/nodejs/cmd/pulumi-language-nodejs`,
    binary: "pulumi-language-nodejs",
    version: `${SDK}/go/common/version.Version=v3.64.0`,
  },
];

const LAUNCHER = "pulumi-resource-pulumi-nodejs";

/** The ways to get an engine, in the order in which they are tried. */
const WAYS = [
  {
    name: "Pulumi's installer, which downloads it",
    title: "Installing the Pulumi engine with Pulumi's installer: about a minute, once per machine",
    make: install,
  },
  {
    name: `Go ${MIN_GO} or newer, which builds it`,
    title: "Building the Pulumi engine with Go: 4 to 10 minutes, once per machine",
    make: build,
  },
];

/**
 * Finds a Pulumi engine: the user's own (`PULUMI_APICHAT_ENGINE`, PATH), else the cached one. If there is
 * none, puts one into the cache, with progress on stderr. If every way fails, throws an error with the reason
 * for each. An abort of `signal` leaves nothing behind.
 */
export async function resolveEngine(signal: AbortSignal = new AbortController().signal): Promise<Engine> {
  let reason: string;
  try {
    return await findEngine();
  } catch (error) {
    reason = reasonOf(error);
    if (process.env.PULUMI_APICHAT_ENGINE) {
      throw new Error(`PULUMI_APICHAT_ENGINE: ${reason}`, { cause: error });
    }
  }
  const entry = await cacheEntry("engine", engineTools.flatMap(sourcesOf));
  const first = `pulumi 3.216 or newer on PATH: ${reason}`;
  await fillEntry(entry, (folder) => makeEngine(folder, first, signal), signal);
  return inspectEngine(join(entry, "bin", "pulumi"), "cache");
}

/**
 * Tries the ways to get `pulumi` and its hosts into `<folder>/bin` until one works. Temporary files go to
 * `<folder>/tmp`.
 */
async function makeEngine(folder: string, first: string, signal: AbortSignal): Promise<void> {
  const reasons = [first];
  const bin = join(folder, "bin");
  for (const { name, title, make } of WAYS) {
    try {
      await withProgress(title, (update) => make(folder, { signal, update }));
      await inspectEngine(join(bin, "pulumi"), "cache");
      return;
    } catch (error) {
      signal.throwIfAborted();
      console.error(`  failed: ${reasonOf(error)}`);
      reasons.push(`${name}: ${reasonOf(error)}`);
      await rm(bin, { recursive: true, force: true });
      await mkdir(bin);
    }
  }
  throw new Error(
    [
      "No Pulumi engine was found. What was tried, and why it failed:",
      ...reasons.map((reason, index) => `  ${index + 1}. ${reason}`),
      "Fix one of these and run this again. The first is the quickest: https://www.pulumi.com/docs/install/",
    ].join("\n"),
  );
}

async function install(folder: string, { signal }: WorkOptions): Promise<void> {
  const env = { ...process.env, TMPDIR: join(folder, "tmp"), NODE_USE_ENV_PROXY: "1" };
  await run(process.execPath, [inClone("tools/engine/run-installer.ts"), folder], { env, signal });
}

async function build(folder: string, options: WorkOptions): Promise<void> {
  await buildGoTools(engineTools, folder, options);
  const target = join(folder, "bin", LAUNCHER);
  await copyFile(inClone(`node_modules/@pulumi/pulumi/${LAUNCHER}`), target);
  await chmod(target, 0o755);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof CommandError) || !error.output) return error.message;
  return [`${error.reason}:`, ...error.output.split("\n").slice(-5)].join("\n     ");
}
