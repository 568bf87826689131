import { statSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { execa } from "execa";
import { engineEnvironment } from "../../tools/engine/environment.ts";
import { hasHost } from "../../tools/engine/languages.ts";
import { inClone } from "../../tools/lib/clone.ts";
import { findPythonSdk } from "../../tools/sdk/python.ts";
import { engine } from "./stack.ts";

/** A Pulumi language whose programs run on the resource plugin here. */
export interface PluginLanguage {
  /** The name in `apichat init --language`, and of its folder in `examples/`. */
  name: string;
  /** Variables of its programs, which override the engine's. */
  environment: Record<string, string>;
  /**
   * Runs `pulumi install` in the folder of a program, or does its work if the host that a clone builds is too
   * old.
   */
  install: (folder: string, environment: Record<string, string>) => Promise<unknown>;
}

const { PATH = "" } = engineEnvironment(engine, { home: "", backend: "", passphrase: "" });

/** The set-up of `npm run suite guides` has created it, or reported that this machine has no Python. */
const pythonSdk = await findPythonSdk();

/** Uses the modules of the examples, which every program on the SDK needs. */
async function installGo(folder: string): Promise<void> {
  const module = await readFile(inClone("examples/go/go.mod"), "utf8");
  await writeFile(join(folder, "go.mod"), module.replace("../../sdk/go", inClone("sdk/go")));
  await copyFile(inClone("examples/go/go.sum"), join(folder, "go.sum"));
}

/** Puts the SDK where a program of `apichat init` and the examples expect it. */
async function installJava(folder: string): Promise<void> {
  await mkdir(join(folder, "sdks"));
  await symlink(inClone("sdk/java"), join(folder, "sdks/apichat"));
  const parent = await readFile(inClone("examples/java/pom.xml"), "utf8");
  const sdk = "${project.basedir}/sdks/apichat";
  await writeFile(join(folder, "../pom.xml"), parent.replace("${project.basedir}/../../../sdk/java", sdk));
}

/** Puts the SDK beside the packages of the clone. */
async function installTypeScript(folder: string): Promise<void> {
  const modules = join(folder, "node_modules");
  await rm(modules, { force: true });
  await mkdir(modules);
  for (const name of await readdir(inClone("node_modules"))) {
    await symlink(inClone(`node_modules/${name}`), join(modules, name));
  }
  await symlink(inClone("sdk/nodejs/bin"), join(modules, "pulumi-apichat-sdk"));
}

/** Their dependencies take minutes to compile, so the tests use them only if they are already compiled. */
const compiled = [
  { name: "typescript", sdk: "nodejs", environment: {}, install: installTypeScript },
  { name: "go", sdk: "go", environment: {}, install: installGo },
  { name: "java", sdk: "java", environment: {}, install: installJava },
] as const;

const changedAt = (path: string): number =>
  statSync(inClone(path), { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;

/** Whether `npm run suite languages` has run since the schema changed. */
const isReady = ({ name, sdk }: (typeof compiled)[number]): boolean =>
  (name === "typescript" || hasHost(engine, name)) &&
  changedAt(`sdk/${sdk}/.checked`) > changedAt("provider/plugin/schema.json");

/** Programs in Python. Undefined on a machine without Python, which skips the tests of the Python pages. */
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
 * The languages with examples of all three ways of use. Each takes up to half a minute, so only `npm run suite
 * languages` includes languages other than YAML. In TypeScript only the dynamic provider has these examples.
 */
export const languagesOfTheWholeWay = pluginLanguages.filter(({ name }) =>
  process.env["TEST_SUITE"] === "languages" ? name !== "typescript" : name === "yaml",
);
