import { statSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { execa } from "execa";
import { engineEnvironment } from "../../tools/engine/environment.ts";
import { hasHost } from "../../tools/engine/languages.ts";
import { inClone } from "../../tools/lib/clone.ts";
import { findPythonSdk } from "../../tools/sdk/python.ts";
import { engine } from "./stack.ts";

/** A Pulumi language in which programs can use the resource plugin on this machine. */
export interface PluginLanguage {
  /** The language's name in `apichat init --language`, which is also its folder in `examples/`. */
  name: string;
  /** Environment variables for programs in the language. They override the engine's variables. */
  environment: Record<string, string>;
  /**
   * Does in a program's folder what `pulumi install` would do. Only YAML runs that command, because most
   * language hosts that a clone builds do not support it.
   */
  install: (folder: string, environment: Record<string, string>) => Promise<unknown>;
}

const { PATH = "" } = engineEnvironment(engine, { home: "", backend: "", passphrase: "" });

/** The virtual environment with the Python SDK from the set-up of `npm run suite guides`, if there is one. */
const pythonSdk = await findPythonSdk();

/** Copies go.mod and go.sum of the examples, because every program that uses the SDK needs the same modules. */
async function installGo(folder: string): Promise<void> {
  const module = await readFile(inClone("examples/go/go.mod"), "utf8");
  await writeFile(join(folder, "go.mod"), module.replace("../../sdk/go", inClone("sdk/go")));
  await copyFile(inClone("examples/go/go.sum"), join(folder, "go.sum"));
}

/** Links the SDK to where programs of `apichat init` look for it, and lets examples look there too. */
async function installJava(folder: string): Promise<void> {
  await mkdir(join(folder, "sdks"));
  await symlink(inClone("sdk/java"), join(folder, "sdks/apichat"));
  const parent = await readFile(inClone("examples/java/pom.xml"), "utf8");
  const sdk = "${project.basedir}/sdks/apichat";
  await writeFile(join(folder, "../pom.xml"), parent.replace("${project.basedir}/../../../sdk/java", sdk));
}

/** Fills the folder's node_modules with links to the SDK and to the packages of the clone. */
async function installTypeScript(folder: string): Promise<void> {
  const modules = join(folder, "node_modules");
  await rm(modules, { force: true });
  await mkdir(modules);
  for (const name of await readdir(inClone("node_modules"))) {
    await symlink(inClone(`node_modules/${name}`), join(modules, name));
  }
  await symlink(inClone("sdk/nodejs/bin"), join(modules, "pulumi-apichat-sdk"));
}

/** Languages whose dependencies take minutes to compile. Tests use a language only if that has been done. */
const compiled = [
  { name: "typescript", sdk: "nodejs", environment: {}, install: installTypeScript },
  { name: "go", sdk: "go", environment: {}, install: installGo },
  { name: "java", sdk: "java", environment: {}, install: installJava },
] as const;

const changedAt = (path: string): number =>
  statSync(inClone(path), { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;

/** Whether the language's host exists, and `npm run suite languages` has run since the schema changed. */
const isReady = ({ name, sdk }: (typeof compiled)[number]): boolean =>
  (name === "typescript" || hasHost(engine, name)) &&
  changedAt(`sdk/${sdk}/.checked`) > changedAt("provider/plugin/schema.json");

/** Programs in Python. Undefined if there is no Python; then the tests of the Python pages are skipped. */
export const pythonProgram: PluginLanguage | undefined =
  pythonSdk === undefined
    ? undefined
    : {
        name: "python",
        environment: { PATH: [join(pythonSdk, "bin"), PATH].join(delimiter), VIRTUAL_ENV: pythonSdk },
        install: async () => {},
      };

/** The languages that run on this machine. */
export const pluginLanguages: PluginLanguage[] = [
  {
    name: "yaml",
    environment: {},
    install: (cwd, env) => execa("pulumi", ["install"], { cwd, env, extendEnv: false }),
  },
  ...(pythonProgram ? [pythonProgram] : []),
  ...compiled.filter(isReady),
];

/**
 * The languages whose examples `workspaces` and `consumer` are tested. A language takes up to half a minute,
 * so only `npm run suite languages` tests more than YAML. TypeScript lacks these examples for the plugin.
 */
export const languagesOfTheWholeWay = pluginLanguages.filter(({ name }) =>
  process.env["TEST_SUITE"] === "languages" ? name !== "typescript" : name === "yaml",
);
