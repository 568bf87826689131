import { lstatSync, realpathSync } from "node:fs";
import { readlink, rename, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { findExecutable, type Engine } from "./engine.ts";
import { resolveGoTools, type GoTool } from "./go-tools.ts";

const GITHUB = "github.com/pulumi";
const SDK = `${GITHUB}/pulumi/sdk/v3`;
const SDK_VERSION = `${SDK}/go/common/version.Version=v3.64.0`;

/** The language's title, the folder with the host's go.mod, the package to build, its version, and its script. */
type Host = [title: string, folder: string, source: string, version: string, script?: GoTool["script"]];

const pythonScript = { module: SDK, path: "python/cmd/pulumi-language-python-exec" };
const [yaml, java] = ["pulumi-yaml", "pulumi-java"].map((name) => `${GITHUB}/${name}`);

/** The hosts of the languages other than Node.js. Each is built only when needed: most users of a clone need none. */
const hosts = {
  yaml: ["YAML", "yaml-host", `${yaml}/cmd/pulumi-language-yaml`, `${yaml}/pkg/version.Version=v1.38.1`],
  // Built from the Node.js host's go.mod, because both hosts have the same dependencies.
  python: ["Python", "nodejs-host", `${SDK}/python/cmd/pulumi-language-python`, SDK_VERSION, pythonScript],
  go: ["Go", "go-host", `${SDK}/go/pulumi-language-go`, SDK_VERSION],
  java: ["Java", "java-host", `${java}/pkg/cmd/pulumi-language-java`, `${java}/pkg/version.Version=v0.20.0`],
} satisfies Record<string, Host>;

export type Language = keyof typeof hosts;

export const languages = Object.keys(hosts) as Language[];

/** Whether the language's host is beside `pulumi`, where the engine needs it to run programs in the language. */
export const hasHost = (engine: Engine, language: Language): boolean =>
  findExecutable(hostName(language), [engine.directory, dirname(realpathSync(engine.command))]) !== undefined;

/**
 * Ensures that the engine has the hosts of these languages. If an engine in the tools' cache lacks a host, the
 * host is built once per machine into its own cache entry, and linked into the engine's folder, where the engine
 * finds it without a warning. Throws if the user's own engine lacks a host, or if a host cannot be built.
 */
export async function prepareHosts(
  engine: Engine,
  wanted: readonly Language[],
  signal: AbortSignal,
): Promise<void> {
  for (const language of wanted) {
    const beside = join(engine.directory, hostName(language));
    const isLink = lstatSync(beside, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
    // A host that is not our link came with the engine.
    if (hasHost(engine, language) && !(engine.source === "cache" && isLink)) continue;
    if (engine.source === "path") {
      throw new Error(
        `${hostName(language)}, which runs ${hosts[language][0]} programs, is not beside ${engine.command}. ` +
          "Pulumi's own distribution contains it: https://www.pulumi.com/docs/install/",
      );
    }
    await link(join(await buildHost(language, signal), hostName(language)), beside);
  }
}

const hostName = (language: Language): string => `pulumi-language-${language}`;

async function buildHost(language: Language, signal: AbortSignal): Promise<string> {
  const [title, folder, name, version, script]: Host = hosts[language];
  const module = new URL(`${folder}/`, import.meta.url);
  const tool = { module, package: name, binary: hostName(language), version, ...(script && { script }) };
  const work = `Building the engine's ${title} host with Go: a few seconds to 3 minutes, once per machine`;
  try {
    return await resolveGoTools({ name: `host-${language}`, title: work, tools: [tool] }, signal);
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The engine's ${title} host could not be built: ${reason}`, { cause: error });
  }
}

/** Links atomically, because an engine may be starting; replaces a link to a different version. */
async function link(target: string, path: string): Promise<void> {
  if ((await readlink(path).catch(() => "")) === target) return;
  const temporary = `${path}.${process.pid}`;
  await symlink(target, temporary);
  await rename(temporary, path);
}
