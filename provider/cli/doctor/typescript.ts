import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import type * as TypeScript from "typescript";
import * as z from "zod";
import { readFileIfExists } from "../../lib/files.js";
import { parseYaml } from "../../lib/yaml-file.js";
import { majorOf } from "../../lib/version.js";
import { failed, type Finding, ok, type Surroundings } from "./check.js";
import { addHint, findPackageFile, findVersion } from "./packages.js";
import { isNode, programCheck, type Project } from "./project.js";

/** Compiles an empty program as `pulumi up` does: with the same TypeScript and the same options. */
export const typescriptCheck = programCheck("typescript", isNode, judge);

function judge(project: Project, { environment }: Surroundings): Finding {
  const { folder, options } = project;
  if (options["typescript"] === false) return judgeLoader(project);
  const path = findCompiler(folder);
  if (path === undefined) return ok("not checked: @pulumi/pulumi is not installed");
  const ts = createRequire(path)(path) as typeof TypeScript;
  const own = findVersion(folder, "typescript");
  const name = own ?? `not installed: @pulumi/pulumi brings ${ts.version}`;
  // TypeScript 7 has no such interface.
  if (typeof ts.createProgram !== "function") {
    return failed(`${name} cannot be used by @pulumi/pulumi`, addHint(project, "typescript@6"));
  }
  const configPath = join(folder, environment["PULUMI_NODEJS_TSCONFIG_PATH"] ?? tsconfigOf(options));
  const problem = compile(ts, project, { configPath, isChecked: isTypeChecked(environment) });
  if (problem === undefined) return ok(name);
  const text = `${name}, and pulumi up would stop: TS${problem.code}: ${problem.text}`;
  return failed(
    text,
    own === undefined ? addHint(project, "typescript@6") : (HINTS[problem.code] ?? `see ${configPath}`),
  );
}

const HINTS: Record<number, string> = {
  1479: 'set "module": "nodenext" in tsconfig.json',
  5107: 'set "module": "nodenext" and "moduleResolution": "nodenext", or "ignoreDeprecations": "6.0", in tsconfig.json',
  5109: 'set "moduleResolution" in tsconfig.json too',
  5110: 'set "moduleResolution": "node" in tsconfig.json too, or "module": "nodenext"',
};

const tsconfigOf = (options: Project["options"]): string =>
  typeof options["tsconfig"] === "string" ? options["tsconfig"] : "tsconfig.json";

/** Without Pulumi's own TypeScript, something such as tsx compiles the program. */
function judgeLoader({ folder, options, ...project }: Project): Finding {
  const given = options["nodeargs"];
  const [, loader] =
    /--(?:import|require|loader)[ =]([\w@/.-]+)/.exec(typeof given === "string" ? given : "") ?? [];
  if (loader === undefined) return ok("off in Pulumi.yaml");
  const isFound = loader.startsWith(".") || findPackageFile(folder, loader) !== undefined;
  if (isFound) return ok(`off in Pulumi.yaml: ${loader} compiles the program`);
  return failed(
    `off in Pulumi.yaml, and ${loader} of nodeargs is not installed`,
    addHint({ folder, options, ...project }, loader),
  );
}

/** The TypeScript that @pulumi/pulumi loads: the program's own, else the one inside @pulumi/pulumi. */
function findCompiler(folder: string): string | undefined {
  const manifest = findPackageFile(folder, "@pulumi/pulumi/package.json");
  if (manifest === undefined) return undefined;
  const library = dirname(manifest);
  const own = findPackageFile(library, "typescript");
  if (own !== undefined) return own;
  const vendor = join(library, "vendor");
  if (!existsSync(vendor)) return undefined;
  const name = readdirSync(vendor).find((one) => one.startsWith("typescript@"));
  return name === undefined ? undefined : join(vendor, name, "typescript.js");
}

const isTypeChecked = (environment: NodeJS.ProcessEnv): boolean =>
  environment["PULUMI_NODEJS_TRANSPILE_ONLY"] !== "true";

interface Problem {
  code: number;
  /** One line. */
  text: string;
}

/** What ts-node ignores: they are about the list of files. */
const IGNORED = new Set([6059, 18_002, 18_003]);

/** The first error of the options, or of a program that only imports this package. Mirrors `cmd/run` of @pulumi/pulumi and its ts-node. */
function compile(
  ts: typeof TypeScript,
  project: Project,
  { configPath, isChecked }: { configPath: string; isChecked: boolean },
): Problem | undefined {
  const { folder } = project;
  const isModern = !/^(?:[0-3]|4\.[0-6])\./.test(ts.version);
  const module = isModern ? "nodenext" : "commonjs";
  const read = existsSync(configPath)
    ? ts.readConfigFile(configPath, (path) => ts.sys.readFile(path))
    : { config: {} };
  if (read.error !== undefined) return toProblem(ts, read.error);
  const given = read.config as { compilerOptions?: object };
  const compilerOptions = {
    target: "ES2020",
    module,
    moduleResolution: isModern ? "nodenext" : "node",
    ...given.compilerOptions,
    noEmit: false,
    outDir: "$$ts-node$$",
    declaration: false,
    composite: undefined,
    incremental: undefined,
  };
  const config = { ...given, compilerOptions, files: [], include: [] };
  const { options, errors } = ts.parseJsonConfigFileContent(config, ts.sys, folder, undefined, configPath);
  const wrong = errors.find(({ code }) => !IGNORED.has(code));
  if (wrong !== undefined) return toProblem(ts, wrong);
  if (!isChecked || options["noCheck"] === true || !isTypeScript(project)) return undefined;
  const probe = join(folder, "apichat-doctor-probe.ts");
  const program = ts.createProgram([probe], options, hostWith(ts, options, probe, probeText(project)));
  const found = [
    ...(reportsOptions(project) ? program.getOptionsDiagnostics() : []),
    ...program.getSemanticDiagnostics(program.getSourceFile(probe)),
  ].find(({ category, code }) => category === ts.DiagnosticCategory.Error && !IGNORED.has(code));
  return found === undefined ? undefined : toProblem(ts, found);
}

/** The ts-node 7 inside @pulumi/pulumi reports errors of the options. A newer one of the program's own does not. */
function reportsOptions({ folder }: Project): boolean {
  const library = findPackageFile(folder, "@pulumi/pulumi/package.json");
  const version = library === undefined ? undefined : findVersion(dirname(library), "ts-node");
  return version === undefined || majorOf(version) < 8;
}

/** A missing package is reported by its own check. */
const probeText = ({ folder }: Project): string =>
  `${findVersion(folder, "pulumi-apichat") === undefined ? "" : 'import "pulumi-apichat";\n'}export {};\n`;

/** What a compiler reads files with, and one more file, which is not on disk. */
function hostWith(
  ts: typeof TypeScript,
  options: TypeScript.CompilerOptions,
  path: string,
  text: string,
): TypeScript.CompilerHost {
  const host = ts.createCompilerHost(options);
  return {
    ...host,
    fileExists: (name) => name === path || host.fileExists(name),
    readFile: (name) => (name === path ? text : host.readFile(name)),
    getSourceFile: (name, languageVersion, ...more) =>
      name === path
        ? ts.createSourceFile(name, text, languageVersion)
        : host.getSourceFile(name, languageVersion, ...more),
  };
}

const toProblem = (ts: typeof TypeScript, { code, messageText }: TypeScript.Diagnostic): Problem => ({
  code,
  text: ts.flattenDiagnosticMessageText(messageText, " ").replaceAll(/\s+/g, " "),
});

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
