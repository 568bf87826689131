import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { hasErrorCode, readFileIfExists } from "../../lib/files.js";
import { formatUrl } from "../../lib/url.js";
import { isOlder, majorOf, MIN_PULUMI } from "../../lib/version.js";
import { ADDRESSES } from "../credentials.js";
import { type Check, type Facts, failed, type Finding, LIMIT_MS, ok, skipped, warning } from "./check.js";
import type { Project } from "./project.js";

/** Checks Pulumi's command line on PATH. Without a program nothing here needs it. */
export const checkPulumi: Check = async (facts) => {
  const finding = await readPulumi(facts);
  const isNeeded = facts.projectFile !== undefined;
  return finding.status === "failed" && !isNeeded ? { ...finding, status: "warning" } : finding;
};

async function readPulumi({ signal }: Facts): Promise<Finding> {
  const hint = `install Pulumi ${MIN_PULUMI} or newer, below 4: https://www.pulumi.com/docs/install/; or, in a clone, npm run engine`;
  try {
    return judgeVersion((await runPulumi(["version"], signal)).trim(), hint);
  } catch (error) {
    if (signal.aborted) throw error;
    return failed(hasErrorCode(error, "ENOENT") ? "not on PATH" : "pulumi version fails", hint);
  }
}

async function runPulumi(args: readonly string[], signal: AbortSignal): Promise<string> {
  const env = { ...process.env, PULUMI_SKIP_UPDATE_CHECK: "true" };
  return (await execute("pulumi", args, { env, timeout: LIMIT_MS, signal })).stdout;
}

const execute = promisify(execFile);

/** Judges the version of Pulumi, or of a library of it. */
function judgeVersion(version: string, hint: string): Finding {
  if (isOlder(version, MIN_PULUMI)) {
    return failed(`${version} is too old; ${MIN_PULUMI} or newer is needed`, hint);
  }
  return majorOf(version) > majorOf(MIN_PULUMI)
    ? warning(`${version} is newer than the versions that this package supports`, hint)
    : ok(version);
}

export const checkProgram: Check = async (facts) => {
  const project = await facts.project;
  if (project === undefined) return skipped("no Pulumi.yaml here or above");
  const { name, path, runtime, isOnPlugin } = project;
  const provider = isOnPlugin ? `${runtime}, on the resource plugin` : "on the dynamic provider";
  return ok(`${name} (${path}), ${provider}`);
};

/** A check of the program, if there is one. */
const ofProgram =
  (inspect: (project: Project, facts: Facts) => ReturnType<Check>): Check =>
  async (facts) => {
    // The check of the program reports why it cannot be read.
    const project = await facts.project.catch(() => undefined);
    return project && inspect(project, facts);
  };

/** The provider process loads the package from the program's folder, or from the top of its workspace. */
export const checkDependency = ofProgram((project) =>
  project.isOnPlugin ? undefined : judgePackage(project, "pulumi-apichat", ok),
);

export const checkLibrary = ofProgram((project) =>
  project.runtime === "nodejs" ? judgePackage(project, "@pulumi/pulumi", judgeVersion) : undefined,
);

function judgePackage(
  project: Project,
  name: string,
  judge: (version: string, hint: string) => Finding,
): Finding {
  const version = findVersion(project, name);
  const hint = addHint(project, name);
  return version === undefined ? failed(`not installed in ${project.folder}`, hint) : judge(version, hint);
}

/** Names the package to install, which the compiler's own error, such as TS6046, does not. */
export const checkTypeScript = ofProgram((project) => {
  if (project.runtime !== "nodejs" || !project.isCompiled) return undefined;
  const version = findVersion(project, "typescript");
  const hint = addHint(project, "typescript@6");
  if (version !== undefined) {
    return majorOf(version) > 6
      ? failed(`@pulumi/pulumi does not support ${version} yet`, hint)
      : ok(version);
  }
  const settings = readFileIfExists(join(project.folder, "tsconfig.json")) ?? "";
  const text = "not installed: @pulumi/pulumi brings 3.8";
  return /"module"\s*:\s*"node/i.test(settings)
    ? failed(`${text}, which does not know the module of tsconfig.json`, hint)
    : ok(text);
});

const installed = z.object({ version: z.string() });

/** The version of a package as a program in this folder would load it. Returns undefined if it is not installed. */
function findVersion({ folder }: Project, name: string): string | undefined {
  const require = createRequire(join(folder, "package.json"));
  try {
    return installed.safeParse(require(`${name}/package.json`)).data?.version;
  } catch (error) {
    if (hasErrorCode(error, "MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED")) return undefined;
    throw error;
  }
}

const addHint = ({ folder }: Project, what: string): string =>
  `run in ${folder}: npm install ${what}, or the same with your package manager`;

/** Checks that the engine finds the resource plugin: in the folder that Pulumi.yaml names, or installed. */
export const checkPlugin = ofProgram(async ({ path, isOnPlugin, plugin = "" }, { signal }) => {
  if (!isOnPlugin) return undefined;
  // Anything else, such as apichat@0.1.0, the engine looks up itself.
  if (/^[./~]|^[a-z]:/i.test(plugin)) {
    const folder = resolve(dirname(path), plugin);
    return existsSync(folder)
      ? ok(folder)
      : failed(`${folder} does not exist`, `run in ${dirname(path)}: npm install`);
  }
  const listed = await runPulumi(["plugin", "ls", "--json"], signal).catch(() => undefined);
  signal.throwIfAborted();
  if (listed === undefined) return skipped("pulumi plugin ls fails");
  const versions = plugins
    .parse(JSON.parse(listed))
    .flatMap(({ name, version }) => (name === "apichat" ? version : []));
  if (versions.length > 0) return ok(`installed: ${versions.join(", ")}`);
  return warning(
    "not installed",
    "pulumi up downloads it if the SDK names a server; else: pulumi plugin install resource apichat VERSION --file ARCHIVE",
  );
});

const plugins = z.array(z.object({ name: z.string(), version: z.string().default("of no version") }));

/** Checks where the base URL and the API key come from. */
export const checkConfiguration: Check = async ({ credentials, ...facts }) => {
  const stacks = await facts.stacks;
  const found = stacks.flatMap(({ place, warnings }) => warnings.map((one) => ({ place, ...one })));
  if (found.length > 0) {
    const texts = found.map(({ place, text }) => `${place}: ${text}`);
    return warning(texts.join("; "), [...new Set(found.map(({ hint }) => hint))].join("; "));
  }
  const given = {
    place: "this command",
    baseUrl: await credentials.findAddress("baseUrl"),
    hasApiKey: (await credentials.findSecret("apiKey")) !== undefined,
  };
  const sources = [given, ...stacks].flatMap(({ place, baseUrl, hasApiKey }) => {
    const parts = [...(baseUrl ? [formatUrl(baseUrl)] : []), ...(hasApiKey ? ["an API key"] : [])];
    return parts.length > 0 ? [`${place}: ${parts.join(", ")}`] : [];
  });
  return sources.length > 0
    ? ok(sources.join("; "))
    : skipped(`no base URL: neither ${ADDRESSES.baseUrl.variable} nor apichat:baseUrl`);
};
