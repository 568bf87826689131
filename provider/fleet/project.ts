import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { NEVER } from "../lib/abort.js";
import { makeFolders, writePrivateFile } from "../lib/files.js";
import { findSdk } from "../lib/sdk.js";
import { PROGRAM_FILE_VARIABLE, type ProgramFile } from "./declare.js";
import type { ResolvedFleet } from "./definition.js";
import type { PulumiEnd } from "./pulumi.js";

/** Where the engine finds a program. */
export interface ProgramPlace {
  folder: string;
  variables: Record<string, string>;
}

export interface ProgramOptions {
  environment: Readonly<Record<string, string>>;
  signal?: AbortSignal;
  /** What the program prints while its YAML is made. Else the engine reports it. */
  onOutput?: (text: string) => void;
}

/** For language hosts that do not know the option `typescript` of Pulumi.yaml: Node itself runs the program. */
const WITHOUT_TS_NODE = "--import=data:text/javascript,delete%20process.env.PULUMI_NODEJS_TYPESCRIPT";

/** The folder that npm ships: see tools/bundle-plugin.ts. */
const pluginFolder = (): string =>
  join(dirname(fileURLToPath(import.meta.resolve("pulumi-apichat/package.json"))), "plugin");

/** The Pulumi project of a fleet. In its folder only running programs have files. */
export class Project {
  readonly #fleet: ResolvedFleet;

  constructor(fleet: ResolvedFleet) {
    this.#fleet = fleet;
  }

  /** What the engine needs in its environment beside what the caller has there. */
  variables({ NODE_OPTIONS = "" }: NodeJS.ProcessEnv): Record<string, string> {
    if (this.#isYaml) return {};
    return { NODE_OPTIONS: [NODE_OPTIONS, WITHOUT_TS_NODE].join(" ").trim() };
  }

  get #isYaml(): boolean {
    return this.#fleet.provider === "plugin";
  }

  /** Writes what the engine finds: on the dynamic provider with a program of one line, on the plugin without one. */
  async prepare(): Promise<void> {
    const { folder } = this.#fleet;
    makeFolders(folder);
    const files = { ...(this.#isYaml ? this.#yamlFiles() : this.#nodeFiles()), ".gitignore": "*" };
    // Each as a whole: an engine of another command may read them at this moment.
    await Promise.all(
      Object.entries(files).map(([name, text]) => writePrivateFile(join(folder, name), `${text}\n`)),
    );
    await removeStale(folder);
  }

  #nodeFiles(): Record<string, string> {
    findSdk();
    const runtime = { name: "nodejs", options: { typescript: false } };
    const program = new URL("./program.js", import.meta.url).href;
    return {
      "Pulumi.yaml": JSON.stringify({ name: this.#fleet.project, runtime, main: "index.mjs" }),
      // Without one, Pulumi does not call the function that a program exports.
      "package.json": JSON.stringify({ private: true, type: "module" }),
      // It declares the webhooks while it is loaded: a program that is loaded and not called would have all of them deleted.
      "index.mjs": `import { runFleetProgram } from ${JSON.stringify(program)};\nconst outputs = await runFleetProgram();\nexport default () => outputs;`,
    };
  }

  #yamlFiles(): Record<string, string> {
    return { "Pulumi.yaml": JSON.stringify(this.#yamlProject()) };
  }

  #yamlProject(): object {
    return { name: this.#fleet.project, runtime: "yaml", packages: { apichat: pluginFolder() } };
  }

  /** Calls `work` while there is a program. A program that fails on the way to its YAML gives its end instead. */
  async withProgram(
    file: ProgramFile,
    options: ProgramOptions,
    work: (place: ProgramPlace) => Promise<PulumiEnd>,
  ): Promise<PulumiEnd> {
    const { folder } = this.#fleet;
    const id = randomUUID();
    const path = join(folder, `${id}.json`);
    const variables = { [PROGRAM_FILE_VARIABLE]: path };
    await writePrivateFile(path, JSON.stringify(file));
    const stop = keepFresh([path, join(folder, id)]);
    try {
      if (!this.#isYaml) return await work({ folder, variables });
      return await this.#withYaml(join(folder, id), variables, options, work);
    } finally {
      stop();
      await Promise.all([path, join(folder, id)].map((each) => rm(each, { recursive: true, force: true })));
    }
  }

  /** In a folder of its own, where the engine reads one file. */
  async #withYaml(
    folder: string,
    variables: Record<string, string>,
    { environment, signal = NEVER, onOutput = () => undefined }: ProgramOptions,
    work: (place: ProgramPlace) => Promise<PulumiEnd>,
  ): Promise<PulumiEnd> {
    await mkdir(folder, { mode: 0o700 });
    // The configuration of a stack, with the salt of its passphrase, stays with that of the others.
    const project = { ...this.#yamlProject(), stackConfigDir: ".." };
    await writePrivateFile(join(folder, "Pulumi.yaml"), JSON.stringify(project));
    const end = await runWriter(join(folder, "Main.json"), { ...environment, ...variables }, signal);
    onOutput(end.output);
    return end.code === 0 ? work({ folder, variables: {} }) : end;
  }
}

const MAX_OUTPUT = 64 * 1024 * 1024;

/** Runs the user's program as the engine would: in a process of its own, with the environment of the run. */
function runWriter(
  path: string,
  environment: Record<string, string>,
  signal: AbortSignal,
): Promise<PulumiEnd> {
  const module = new URL("./yaml-program.js", import.meta.url).href;
  const code = `const { writeYamlProgram } = await import(${JSON.stringify(module)}); await writeYamlProgram(${JSON.stringify(path)});`;
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...environment }, signal, maxBuffer: MAX_OUTPUT };
    execFile(process.execPath, ["--input-type=module", "--eval", code], options, (error, output, errors) => {
      const failure = error === null ? undefined : typeof error.code === "number" ? error.code : 1;
      resolve({ code: failure ?? 0, output, errors });
    });
  });
}

/** A run that lives touches its files this often, in milliseconds. */
const TOUCH_MS = 60 * 1000;

/** A run that has not touched its files for this long was killed. In milliseconds. */
const STALE_MS = 60 * TOUCH_MS;

async function touch(path: string): Promise<void> {
  const now = new Date();
  // The program removes its file once it has read it, and there may be no folder.
  await utimes(path, now, now).catch(() => undefined);
}

/** Touches the files of a run until the returned function is called, so that no other command removes them. */
function keepFresh(paths: readonly string[]): () => void {
  const timer = setInterval(() => void Promise.all(paths.map(touch)), TOUCH_MS);
  return () => clearInterval(timer);
}

/** What a run makes: `<uuid>` and `<uuid>.json`; and what is left of a file if its writer was killed: `<file>.<uuid>`. */
const OF_A_RUN = /(?:^|\.)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.json)?$/;

/** Removes the files that killed runs have left: API keys may be in them. */
async function removeStale(folder: string): Promise<void> {
  const files = (await readdir(folder)).filter((name) => OF_A_RUN.test(name));
  for (const file of files.map((name) => join(folder, name))) {
    // One of another command may be gone by now.
    const written = await stat(file).catch(() => undefined);
    if (written && Date.now() - written.mtimeMs > STALE_MS) await rm(file, { recursive: true, force: true });
  }
}
