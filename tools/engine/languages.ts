import { lstatSync, realpathSync } from "node:fs";
import { readlink, rename, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { findExecutable, type Engine } from "./engine.ts";
import { resolveGoTools, type GoTool } from "./go-tools.ts";

interface Host {
  /** As people write it. */
  title: string;
  /** How long the build takes on two cores where Go has nothing in its cache. */
  takes: string;
  tool: Omit<GoTool, "binary">;
}

const sdk = "github.com/pulumi/pulumi/sdk/v3";
const sdkVersion = `${sdk}/go/common/version.Version=v3.64.0`;

/** The hosts of the languages beside Node.js, each built by itself because most users of this clone need none. */
const hosts = {
  yaml: {
    title: "YAML",
    takes: "1 to 3 minutes",
    tool: {
      module: new URL("yaml-host/", import.meta.url),
      package: "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml",
      version: "github.com/pulumi/pulumi-yaml/pkg/version.Version=v1.38.1",
    },
  },
  python: {
    title: "Python",
    takes: "some seconds after the engine's own build, else a minute",
    tool: {
      // It needs nothing that the Node.js host does not need.
      module: new URL("nodejs-host/", import.meta.url),
      package: `${sdk}/python/cmd/pulumi-language-python`,
      version: sdkVersion,
      script: { module: sdk, path: "python/cmd/pulumi-language-python-exec" },
    },
  },
  go: {
    title: "Go",
    takes: "some seconds after the engine's own build, else a minute",
    tool: {
      module: new URL("go-host/", import.meta.url),
      package: `${sdk}/go/pulumi-language-go`,
      version: sdkVersion,
    },
  },
  java: {
    title: "Java",
    takes: "1 to 3 minutes",
    tool: {
      module: new URL("java-host/", import.meta.url),
      package: "github.com/pulumi/pulumi-java/pkg/cmd/pulumi-language-java",
      version: "github.com/pulumi/pulumi-java/pkg/version.Version=v0.20.0",
    },
  },
  dotnet: {
    title: ".NET",
    takes: "1 to 3 minutes",
    tool: {
      module: new URL("dotnet-host/", import.meta.url),
      package: "github.com/pulumi/pulumi-dotnet/pulumi-language-dotnet/v3",
      version: "github.com/pulumi/pulumi-dotnet/pulumi-language-dotnet/v3/version.Version=v3.112.1",
    },
  },
} satisfies Record<string, Host>;

export type Language = keyof typeof hosts;

export const languages = Object.keys(hosts) as Language[];

/** What an option lists, with commas between them, or `all`. Throws if one is not known. */
export function parseLanguages<Name extends string>(
  option: string,
  list: string,
  known: readonly Name[],
): readonly Name[] {
  if (list === "all") return known;
  return list
    .split(",")
    .filter(Boolean)
    .map((name) => {
      const language = known.find((one) => one === name);
      if (language) return language;
      throw new Error(`${option}: "${name}" is not one of ${known.join(", ")}, all`);
    });
}

/** True if this engine runs programs in this language: its host lies beside `pulumi`. */
export const hasHost = (engine: Engine, language: Language): boolean =>
  findExecutable(hostName(language), [engine.directory, dirname(realpathSync(engine.command))]) !== undefined;

/**
 * Sees to it that the engine has the hosts of these languages. For an engine of the tools' cache that lacks one, the host
 * is built once per machine into a cache entry of its own, and linked into the engine's folder, which is where the
 * engine takes it from without a warning. Throws if the user's own engine lacks one, or it cannot be built.
 */
export async function prepareHosts(
  engine: Engine,
  wanted: readonly Language[],
  { env = process.env, signal }: { env?: NodeJS.ProcessEnv; signal?: AbortSignal } = {},
): Promise<void> {
  for (const language of wanted) {
    const beside = join(engine.directory, hostName(language));
    const isLink = lstatSync(beside, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
    // What is not a link of ours came with the engine.
    if (hasHost(engine, language) && !(engine.source === "cache" && isLink)) continue;
    if (engine.source === "path") {
      throw new Error(
        `${engine.command} is there, but ${hostName(language)}, which runs ${hosts[language].title} programs, is not beside it. ` +
          "Pulumi's own distribution has it: https://www.pulumi.com/docs/install/",
      );
    }
    await link(join(await buildHost(language, env, signal), hostName(language)), beside);
  }
}

const hostName = (language: Language): string => `pulumi-language-${language}`;

async function buildHost(language: Language, env: NodeJS.ProcessEnv, signal?: AbortSignal): Promise<string> {
  const { title, takes, tool }: Host = hosts[language];
  try {
    return await resolveGoTools({
      name: `host-${language}`,
      title: `Building the engine's ${title} host with Go: ${takes}, once per machine`,
      tools: [{ ...tool, binary: hostName(language) }],
      env,
      signal,
    });
  } catch (error) {
    signal?.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The engine's ${title} host could not be built: ${reason}`, { cause: error });
  }
}

/** Atomically, because a run may be looking; a link to the host of another version goes. */
async function link(target: string, path: string): Promise<void> {
  if ((await readlink(path).catch(() => "")) === target) return;
  const temporary = `${path}.${process.pid}`;
  await symlink(target, temporary);
  await rename(temporary, path);
}
