import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import { x as extract } from "tar";
import { hasHost } from "../../tools/engine/languages.ts";
import { run } from "../../tools/lib/run.ts";
import { findPython } from "../../tools/lib/python.ts";
import { packFolder } from "../../tools/release/archives.ts";
import { packPython } from "../../tools/release/sdks.ts";
import { generateSdk } from "../../tools/sdk/generate.ts";
import { blocksOf, commandsIn, readPage, root, withoutPlugin } from "./pages.ts";
import type { PluginServer } from "./plugin-server.ts";
import { openProgramFolder, type ProgramFolder } from "./program-folder.ts";
import { responderEnvironment } from "./responder.ts";
import { engine, type Backend } from "./stack.ts";

const { version } = packageJson;
const { signal } = new AbortController();

/** What the pages write as a placeholder for the repository that hosts the releases. */
export const RELEASES = "github://api.github.com/OWNER/NAME";

/** The page for users without Node. */
export const page = readPage("docs/guide/without-node.md");

/** A language whose users install packages from a release. */
export interface InstalledLanguage {
  name: string;
  /** Installs in a program's folder what a user would install; `aside` is a folder for temporary files. */
  install: (program: ProgramFolder, server: PluginServer, aside: string) => Promise<unknown>;
  /** The folders that PATH needs in addition to `pulumi`. */
  path: () => Promise<string[]>;
}

/** Runs the page's `pulumi package add`, then removes the downloaded plugin, as if on a new machine. */
async function installYaml(program: ProgramFolder, { url }: PluginServer, aside: string): Promise<void> {
  const commands = commandsIn(blocksOf(page, "sh")).map((line) => line.replace(/ +#.*/, "").split(" "));
  const [, ...add] = commands.find((words) => words.slice(0, 3).join(" ") === "pulumi package add") ?? [];
  await program.run(...add.map((word) => word.replace(RELEASES, url)));
  await rm(join(aside, "../home/plugins"), { recursive: true });
}

/** The Python for the SDK's tests; undefined if the machine has none. */
export const python = await findPython(signal);

/** Packs a wheel whose plugin the engine downloads from this server. Returns the wheel's path. */
export async function packWheel({ url }: PluginServer, folder: string): Promise<string> {
  const sdk = await generateFor("python", { pluginDownloadURL: url }, folder);
  await packPython({ sdk, folder, signal });
  return join(folder, (await readdir(folder)).find((name) => name.endsWith(".whl")) ?? "");
}

/** `.git` in the path shows Go where the repository's name ends, so Go does not ask the host. */
const GO_MODULE = "example.com/pulumi-apichat.git/sdk/go";
const EXAMPLE_MODULE = "example.com/pulumi-apichat/sdk/go";

/**
 * Lets Go download the module from a release's tag into a new module cache, then refers to it by `replace` in
 * go.mod: if the program used the new cache for all modules, Go would compile Pulumi's SDK again.
 */
async function installGo({ path }: ProgramFolder, { url }: PluginServer, aside: string): Promise<void> {
  const schema = { pluginDownloadURL: url, importBasePath: `${GO_MODULE}/apichat` };
  const archive = join(aside, "module.tar.gz");
  await packFolder(await generateFor("go", schema, aside), archive);
  const repository = join(aside, "repository");
  const module = join(repository, "sdk/go");
  await mkdir(module, { recursive: true });
  await extract({ file: archive, cwd: module });
  const identity = ["-c", "user.name=Release", "-c", "user.email=release@localhost"];
  for (const args of [["init"], ["add", "."], [...identity, "commit", "-m", "Release"]])
    await run("git", args, { cwd: repository });
  await run("git", ["tag", `sdk/go/v${version}`], { cwd: repository });

  const env = {
    ...process.env,
    GOMODCACHE: join(aside, "modules"),
    GOFLAGS: "-modcacherw",
    GOPRIVATE: "example.com",
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: `url.file://${repository}.insteadOf`,
    GIT_CONFIG_VALUE_0: "https://example.com/pulumi-apichat",
  };
  const download = ["mod", "download", "-json", `${GO_MODULE}@v${version}`];
  const { Dir } = JSON.parse(await run("go", download, { cwd: aside, env })) as { Dir: string };
  const examples = join(root, "examples/go");
  const text = await readFile(join(examples, "go.mod"), "utf8");
  const program = text.replaceAll(EXAMPLE_MODULE, GO_MODULE).replace("../../sdk/go", Dir);
  await writeFile(join(path, "go.mod"), program);
  await cp(join(examples, "go.sum"), join(path, "go.sum"));
  const main = await readFile(join(path, "main.go"), "utf8");
  await writeFile(join(path, "main.go"), main.replaceAll(EXAMPLE_MODULE, GO_MODULE));
}

/** Generates the SDK from a schema with these addresses, as a release does. Returns the SDK's folder. */
async function generateFor(
  language: "python" | "go",
  { pluginDownloadURL, importBasePath }: { pluginDownloadURL: string; importBasePath?: string },
  aside: string,
): Promise<string> {
  const content = JSON.parse(await readFile(join(root, "provider/plugin/schema.json"), "utf8")) as {
    language: { go: object };
  };
  const go = { ...content.language.go, ...(importBasePath && { importBasePath }) };
  const stamped = { ...content, pluginDownloadURL, language: { ...content.language, go } };
  const schema = join(aside, "schema.json");
  await writeFile(schema, JSON.stringify(stamped));
  const into = join(aside, "sdk");
  await generateSdk(language, { engine, signal, into, schema });
  return join(into, language);
}

/** The languages that run on this machine. Go takes minutes, so only `npm run suite languages` includes it. */
export const installedLanguages: InstalledLanguage[] = [
  { name: "yaml", install: installYaml, path: async () => [] },
];
if (process.env["TEST_SUITE"] === "languages" && hasHost(engine, "go"))
  installedLanguages.push({
    name: "go",
    install: installGo,
    path: async () => [join(await run("go", ["env", "GOROOT"]), "bin")],
  });

/** Creates a folder for PATH that contains only `pulumi` and its language hosts. */
export async function linkPulumi({ folder }: Backend): Promise<string> {
  const bin = join(folder, "bin");
  await mkdir(bin);
  for (const file of await readdir(engine.directory))
    if (file.startsWith("pulumi")) await symlink(join(engine.directory, file), join(bin, file));
  return bin;
}

/** Copies and installs a language's quickstart. PATH contains only `pulumi` and the language's tools. */
export async function openInstalled(
  backend: Backend,
  { name, install, path }: InstalledLanguage,
  server: PluginServer,
): Promise<ProgramFolder & { searched: string[] }> {
  const [program, aside] = ["program", "aside"].map((one) => join(backend.folder, one)) as [string, string];
  await mkdir(aside);
  const bin = await linkPulumi(backend);
  const example = join(root, "examples", name, "quickstart");
  // package.json and the plugin in Pulumi.yaml are only for users of the npm package.
  await cp(example, program, { recursive: true, filter: (source) => !source.endsWith("package.json") });
  const project = await readFile(join(example, "Pulumi.yaml"), "utf8");
  await writeFile(join(program, "Pulumi.yaml"), withoutPlugin(project));
  const searched = [...(await path()), bin];
  const opened = openProgramFolder(backend, program, {
    ...responderEnvironment(backend),
    ...server.environment,
    PATH: searched.join(delimiter),
  });
  await install(opened, server, aside);
  return { ...opened, searched };
}
