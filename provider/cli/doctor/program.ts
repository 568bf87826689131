import { createRequire } from "node:module";
import { join } from "node:path";
import * as z from "zod";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { readIfThere } from "../../lib/files.js";
import { parseYaml } from "../../lib/yaml-file.js";
import {
  type Check,
  failed,
  type Finding,
  findProgram,
  ok,
  type ProgramFolder,
  skipped,
  type Surroundings,
  warning,
} from "./check.js";
import { isOlder, LEAST_NODE, LEAST_PULUMI, majorOf } from "../../lib/version.js";

const NO_PROGRAM = "no Pulumi.yaml here or above";

const projectFile = z.object({
  name: z.string(),
  runtime: z.union([z.string(), z.object({ name: z.string() }).transform(({ name }) => name)]),
});

/** A check of the program in the current folder; without one it is skipped. */
const programCheck = (
  name: string,
  inspect: (program: ProgramFolder) => Finding | Promise<Finding>,
): Check => ({
  name,
  run: async ({ folder }) => {
    const program = await findProgram(folder);
    return program === undefined ? skipped(NO_PROGRAM) : inspect(program);
  },
});

export const projectCheck = programCheck("program", async ({ folder, file }) => {
  const path = join(folder, file);
  const { name, runtime } = parseYaml(readIfThere(path) ?? "", projectFile, path);
  if (runtime === "nodejs") return ok(`${name} (${path})`);
  return failed(
    `${name} has the runtime ${runtime}, and dynamic providers of Node.js run in nodejs only`,
    `write the program in TypeScript or JavaScript: runtime: nodejs in ${path}`,
  );
});

const manifest = z.object({
  dependencies: z.record(z.string(), z.unknown()).optional(),
  devDependencies: z.record(z.string(), z.unknown()).optional(),
});

/** The provider process loads the package by its name from the program's folder. */
export const dependencyCheck = programCheck("pulumi-apichat", async ({ folder }) => {
  const path = join(folder, "package.json");
  const text = readIfThere(path);
  const hint = `run in ${folder}: npm install pulumi-apichat`;
  if (text === undefined) return failed(`there is no ${path}`, hint);
  const { dependencies, devDependencies } = parseYaml(text, manifest, path);
  if (!("pulumi-apichat" in { ...dependencies, ...devDependencies })) {
    return failed(`no direct dependency of ${path}, from where the provider is loaded`, hint);
  }
  const version = findVersion(folder, "pulumi-apichat");
  return version === undefined
    ? failed("a dependency, but not installed", `run in ${folder}: npm install`)
    : ok(version);
});

export const libraryCheck = programCheck("@pulumi/pulumi", ({ folder }) => {
  const version = findVersion(folder, "@pulumi/pulumi");
  const hint = `run in ${folder}: npm install @pulumi/pulumi@^${majorOf(LEAST_PULUMI)}`;
  if (version === undefined) return failed(`not installed for ${folder}`, hint);
  if (isOlder(version, LEAST_PULUMI)) {
    return failed(`${version} is too old; ${LEAST_PULUMI} or newer is needed`, hint);
  }
  return majorOf(version) > majorOf(LEAST_PULUMI)
    ? warning(`${version} is newer than what this was made for`, hint)
    : ok(version);
});

export const typescriptCheck = programCheck("typescript", async ({ folder }) => {
  const version = findVersion(folder, "typescript");
  const settings = readIfThere(join(folder, "tsconfig.json")) ?? "";
  if (version === undefined) return judgeWithoutTypescript(folder, settings);
  const isClassic = /"moduleResolution"\s*:\s*"node(10)?"/i.test(settings);
  if (majorOf(version) < 6 || !isClassic || settings.includes('"ignoreDeprecations"')) return ok(version);
  return warning(
    `${version} refuses "moduleResolution": "node" of tsconfig.json (TS5107)`,
    'set "moduleResolution": "nodenext", or "ignoreDeprecations": "6.0"',
  );
});

/** What TypeScript 3.8 takes, which @pulumi/pulumi runs a program with that has none of its own, and a tsconfig.json. */
const OLD_SETTINGS = /^(es(3|5|6|20(1[5-9]|20)|next)|none|commonjs|amd|system|umd|node|classic)$/i;

function judgeWithoutTypescript(folder: string, settings: string): Finding {
  const given = settings.matchAll(/"(target|module|moduleResolution)"\s*:\s*"([^"]*)"/g);
  const unknown = [...given].find(([, , value = ""]) => !OLD_SETTINGS.test(value));
  if (unknown === undefined) return ok("not installed: Pulumi or Node.js bring what they need");
  return failed(
    `not installed, and the TypeScript 3.8 of @pulumi/pulumi refuses ${unknown[0]} of tsconfig.json (TS6046)`,
    `run in ${folder}: npm install --save-dev typescript@6`,
  );
}

const installed = z.object({ version: z.string() });

/** The version of a package as a program in this folder would load it; undefined if it is not installed. */
function findVersion(folder: string, name: string): string | undefined {
  try {
    const require = createRequire(join(folder, "package.json"));
    return installed.safeParse(require(`${name}/package.json`)).data?.version;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

const run = promisify(execFile);

/** The Node that runs this, which runs the programs too. */
export const nodeCheck: Check = {
  name: "Node.js",
  run: () => {
    const { version } = process;
    if (!isOlder(version, LEAST_NODE)) return ok(version);
    return failed(`${version} is too old`, `install Node.js ${LEAST_NODE} or newer: https://nodejs.org`);
  },
};

/** Pulumi's command line on PATH. Without a program nothing here needs it. */
export const pulumiCheck: Check = {
  name: "Pulumi CLI",
  run: async (surroundings) => {
    const finding = judgePulumi(await askVersion(surroundings));
    const isNeeded = (await findProgram(surroundings.folder)) !== undefined;
    return finding.status === "failed" && !isNeeded ? { ...finding, status: "warning" } : finding;
  },
};

const HINT = `install Pulumi ${LEAST_PULUMI} or newer, below 4: https://www.pulumi.com/docs/install/`;

/** The version that it prints, or the code of why it prints none. */
type Asked = { version: string } | { code: string };

async function askVersion({ environment, limitMs, signal }: Surroundings): Promise<Asked> {
  try {
    const env = { ...environment, PULUMI_SKIP_UPDATE_CHECK: "true" };
    const { stdout } = await run("pulumi", ["version"], { env, timeout: limitMs, signal });
    return { version: stdout.trim() };
  } catch (error) {
    if (signal.aborted) throw error;
    const { code, killed } = error as { code?: string | number; killed?: boolean };
    return { code: killed ? `no answer in ${limitMs / 1000} s` : String(code) };
  }
}

function judgePulumi(asked: Asked): Finding {
  if ("code" in asked) {
    if (asked.code === "ENOENT") return failed("not on PATH", `${HINT}; or, in a clone, npm run engine`);
    return failed(`pulumi version fails (${asked.code})`, `run it by hand, or ${HINT}`);
  }
  const { version } = asked;
  if (!/^v?\d+\.\d+/.test(version)) return failed("pulumi version prints no version", HINT);
  if (isOlder(version, LEAST_PULUMI)) return failed(`${version} is too old`, HINT);
  if (majorOf(version) > majorOf(LEAST_PULUMI)) {
    return warning(`${version} is newer than what this was made for`, HINT);
  }
  return ok(version);
}
