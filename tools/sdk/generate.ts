import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { copyFile, mkdir, mkdtempDisposable, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { cacheFolder } from "../engine/cache.ts";
import { findExecutable, type Engine } from "../engine/engine.ts";
import { engineEnvironment } from "../engine/environment.ts";
import { resolveGoTools } from "../engine/go-tools.ts";
import { prepareHosts } from "../engine/languages.ts";
import { inClone } from "../lib/clone.ts";
import { run } from "../lib/run.ts";

/** The folder of the SDKs, with a folder for each language. */
export const sdkFolder = inClone("sdk");

const schemaFile = inClone("provider/plugin/schema.json");

/** Pulumi's names for the languages. */
export const sdkLanguages = ["python", "go", "nodejs", "java"] as const;

export type SdkLanguage = (typeof sdkLanguages)[number];

interface GenerateOptions {
  engine: Engine;
  signal: AbortSignal;
  /** Default: `sdk` in the clone. */
  into?: string;
  /** The path of the schema. Default: the clone's schema. */
  schema?: string;
}

/**
 * Regenerates `sdk/<language>`. The previous folder, with its build output, is replaced once the new one is
 * complete.
 */
export async function generateSdk(
  language: SdkLanguage,
  { engine, signal, into = sdkFolder, schema = schemaFile }: GenerateOptions,
): Promise<void> {
  // The Java host can generate an SDK even if the tools have built it.
  const byHost = language === "java" || isDistribution(engine);
  if (byHost && language !== "nodejs") await prepareHosts(engine, [language], signal);
  await mkdir(into, { recursive: true });
  await using temporary = await mkdtempDisposable(join(into, ".new-"));
  const folder = temporary.path;
  if (byHost) {
    const env = engineEnvironment(engine, {
      home: join(folder, "home"),
      backend: folder,
      passphrase: "none",
    });
    const args = ["package", "gen-sdk", schema, "--language", language, "--out", folder];
    await run(engine.command, args, { env, signal });
  } else await run(await resolveGenerator(signal), [schema, folder, language], { signal });
  if (language === "python") await completePython(join(folder, language));
  if (language === "java") await addJavaResources(join(folder, language), schema);
  await rm(join(into, language), { recursive: true, force: true });
  await rename(join(folder, language), join(into, language));
}

/**
 * Whether the engine is Pulumi's own distribution, in which every host can generate SDKs. An engine that the tools
 * built, even one on PATH, has no Python host beside it, or only a link into the tools' cache.
 */
function isDistribution({ directory, command }: Engine): boolean {
  const host = findExecutable("pulumi-language-python", [directory, dirname(realpathSync(command))]);
  if (host === undefined) return false;
  return !(lstatSync(host).isSymbolicLink() && readlinkSync(host).startsWith(join(cacheFolder(), "host-")));
}

/** Builds Pulumi's SDK generators. The hosts that the tools build contain none, except the one for Java. */
async function resolveGenerator(signal: AbortSignal): Promise<string> {
  const tools = [{ module: new URL("generator/", import.meta.url), package: ".", binary: "generate-sdk" }];
  const title = "Building the generator of SDKs with Go: a few seconds to 4 minutes, once per machine";
  return join(await resolveGoTools({ name: "sdk-generator", title, tools }, signal), "generate-sdk");
}

/**
 * Adds what the generator omits: the README.md that PyPI shows, the licence, the fields that PyPI shows, and
 * the command `apichat`.
 */
async function completePython(folder: string): Promise<void> {
  await copyFile(join(folder, "pulumi_apichat/README.md"), join(folder, "README.md"));
  await copyFile(inClone("LICENSE"), join(folder, "LICENSE"));
  await copyFile(inClone("tools/sdk/pulumi_apichat_command.py"), join(folder, "pulumi_apichat_command.py"));
  const path = join(folder, "pyproject.toml");
  const generated = await readFile(path, "utf8");
  const text = generated
    .replace("\n  [project.license]\n    text = ", '\n  license-files = ["LICENSE"]\n  license = ')
    .replace("[project]\n", `[project]\n${PYTHON_PROJECT}`)
    .replace('"setuptools>=61.0"', '"setuptools>=77.0.3"')
    .replace("  [tool.setuptools]\n", `  [tool.setuptools]\n${PYTHON_MODULES}`);
  await writeFile(path, text);
}

/** Without a licence classifier: Setuptools 77.0.3 deprecates these, and accepts the licence's name instead. */
const PYTHON_PROJECT = `
  authors = [{ name = "the pulumi-apichat authors" }]
  classifiers = [
    "Development Status :: 4 - Beta",
    "Intended Audience :: Developers",
    "Operating System :: OS Independent",
    "Programming Language :: Python :: 3",
    "Topic :: Communications :: Chat",
    "Typing :: Typed",
  ]
  scripts = { apichat = "pulumi_apichat_command:main" }
`.slice(1);

/** Lists the package too, because Setuptools finds packages by itself only if the project lists no modules. */
const PYTHON_MODULES = `
    packages = { find = { include = ["pulumi_apichat*"] } }
    py-modules = ["pulumi_apichat_command"]
`.slice(1);

/** Adds the files that only a build with Gradle would add. Without version.txt, the SDK does not start. */
async function addJavaResources(folder: string, schema: string): Promise<void> {
  const content = JSON.parse(await readFile(schema, "utf8")) as Record<string, string>;
  const { name = "", version = "", pluginDownloadURL: server } = content;
  const resources = join(folder, "src/main/resources/com/pulumi", name);
  await mkdir(resources, { recursive: true });
  await writeFile(join(resources, "version.txt"), version);
  await writeFile(join(resources, "plugin.json"), JSON.stringify({ resource: true, name, version, server }));
}
