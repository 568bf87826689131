import { existsSync, readdirSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import * as z from "zod";
import { readFileIfExists } from "../../lib/files.js";
import { parseYaml } from "../../lib/yaml-file.js";
import { execute, failed, type Facts, type Finding, ok, type Project } from "./check.js";
import { addHint, findPackageFile, findVersion } from "./packages.js";

/** Compiling takes a second, and much longer on a busy machine. */
const COMPILE_LIMIT_MS = 60_000;

/** Compiles an empty program as `pulumi up` does: with the same ts-node, TypeScript and options. */
export async function checkTypeScript(project: Project, facts: Facts): Promise<Finding> {
  const { folder, options } = project;
  if (options["typescript"] === false) return checkLoader(project);
  const manifest = findPackageFile(folder, "@pulumi/pulumi/package.json");
  if (manifest === undefined) return ok("not checked: @pulumi/pulumi is not installed");
  const compiler = findTool(manifest, "typescript", "typescript.js");
  const tsNode = findTool(manifest, "ts-node");
  if (compiler === undefined || tsNode === undefined)
    return ok("not checked: @pulumi/pulumi has no compiler");
  const own = findVersion(folder, "typescript");
  const name = own ?? `not installed: @pulumi/pulumi brings ${compiler.version}`;
  const named = options["tsconfig"];
  const tsconfig =
    facts.environment["PULUMI_NODEJS_TSCONFIG_PATH"] ?? (typeof named === "string" ? named : "tsconfig.json");
  const settings = {
    compiler: compiler.path,
    tsNode: tsNode.path,
    tsconfig,
    transpileOnly: facts.environment["PULUMI_NODEJS_TRANSPILE_ONLY"],
    program: isTypeScript(project) ? probeText(project) : undefined,
  };
  const found = await execute(process.execPath, ["-e", SCRIPT, JSON.stringify(settings)], {
    ...facts,
    cwd: folder,
    limitMs: COMPILE_LIMIT_MS,
  });
  const usable = addHint(project, "typescript@6");
  if ("code" in found) return failed(`${name} cannot be used by @pulumi/pulumi (${found.code})`, usable);
  const [, code, text = ""] = /TS(\d+): (.*?)(?:\n\S|$)/s.exec(found.stdout) ?? [];
  if (code === undefined) return ok(name);
  return failed(
    `${name}, and pulumi up would stop: TS${code}: ${text.trim().replaceAll(/\s+/g, " ")}`,
    own === undefined ? usable : (HINTS[code] ?? `see ${join(folder, tsconfig)}`),
  );
}

/** Does what `cmd/run` of @pulumi/pulumi does, and prints the errors of the program. TypeScript 7 makes ts-node fail. */
const SCRIPT = `
const { existsSync, readFileSync } = require("node:fs");
const { compiler, tsNode, tsconfig, transpileOnly, program } = JSON.parse(process.argv[1]);
const ts = require(compiler);
const skipProject = !existsSync(tsconfig);
const { config } = skipProject ? {} : ts.parseConfigFileTextToJson(tsconfig, readFileSync(tsconfig, "utf8"));
const own = config?.compilerOptions ?? {};
const isModern = !/^([0-3]|4\\.[0-6])\\./.test(ts.version);
const compilerOptions = {
  target: "ES2020",
  module: isModern ? "nodenext" : "commonjs",
  moduleResolution: isModern ? "nodenext" : "node",
  ...own,
};
const options = { compiler, project: tsconfig, skipProject, compilerOptions };
try {
  const service = require(tsNode).register({
    ...options,
    transpileOnly: transpileOnly ? transpileOnly === "true" : own.noCheck,
  });
  if (program !== undefined) service.compile(program, process.cwd() + "/apichat-doctor-probe.ts");
} catch (error) {
  if (error.name !== "TSError") throw error;
  console.log(error.diagnosticText);
}
`;

const HINTS: Record<string, string> = {
  1479: 'set "module": "nodenext" in tsconfig.json',
  5107: 'set "module": "nodenext" and "moduleResolution": "nodenext", or "ignoreDeprecations": "6.0", in tsconfig.json',
  5109: 'also set "moduleResolution" in tsconfig.json',
  5110: 'also set "moduleResolution": "node" in tsconfig.json, or "module": "nodenext"',
};

/** Without Pulumi's own TypeScript, a loader such as tsx compiles the program. */
function checkLoader(project: Project): Finding {
  const given = project.options["nodeargs"];
  const [, loader] =
    /--(?:import|require|loader)[ =]([\w@/.-]+)/.exec(typeof given === "string" ? given : "") ?? [];
  if (loader === undefined) return ok("off in Pulumi.yaml");
  const isFound = loader.startsWith(".") || findPackageFile(project.folder, loader) !== undefined;
  if (isFound) return ok(`off in Pulumi.yaml: ${loader} compiles the program`);
  const text = `off in Pulumi.yaml, but ${loader} of nodeargs is not installed`;
  return failed(text, addHint(project, loader));
}

/** Finds what @pulumi/pulumi loads: the program's own package, else the one inside @pulumi/pulumi. */
function findTool(manifest: string, name: string, file = ""): { path: string; version: string } | undefined {
  const library = dirname(manifest);
  const own = findPackageFile(library, name);
  if (own !== undefined) return { path: own, version: findVersion(library, name) ?? "" };
  const vendor = join(library, "vendor");
  const folder = existsSync(vendor) && readdirSync(vendor).find((one) => one.startsWith(`${name}@`));
  return folder ? { path: join(vendor, folder, file), version: folder.slice(name.length + 1) } : undefined;
}

/** Leaves out a missing package, because its own check reports that. */
const probeText = ({ folder }: Project): string =>
  `${findVersion(folder, "pulumi-apichat") === undefined ? "" : 'import "pulumi-apichat";\n'}export {};\n`;

const manifestShape = z.object({ main: z.string().optional(), type: z.string().optional() });

/** Whether ts-node compiles the program: Node.js itself loads JavaScript, and TypeScript as an ES module. */
function isTypeScript({ folder, mainFile }: Project): boolean {
  const path = join(folder, "package.json");
  const { main, type } = parseYaml(readFileIfExists(path) ?? "{}", manifestShape, path);
  const named = mainFile ?? (main !== undefined && existsSync(join(folder, main)) ? main : undefined);
  if (named !== undefined) return isCompiled(extname(named), type);
  return !existsSync(join(folder, "index.js")) && isCompiled(".ts", type);
}

const isCompiled = (extension: string, type: string | undefined): boolean =>
  extension === ".cts" || (extension === ".ts" && type !== "module");
