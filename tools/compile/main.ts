/** Compiles the package to `dist/` as `tsc` does, but the declarations of `dist/provider` do not lead to zod's: see plain-types.ts. */
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { writePlainTypes } from "./plain-types.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const host: ts.FormatDiagnosticsHost = {
  getCanonicalFileName: String,
  getCurrentDirectory: () => root,
  getNewLine: () => "\n",
};

const { config } = ts.readConfigFile(join(root, "tsconfig.json"), (path) => ts.sys.readFile(path));
const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, root);
const program = ts.createProgram(fileNames, options);
const problems = [...ts.getPreEmitDiagnostics(program)];
const { diagnostics } = program.emit(
  undefined,
  writePlainTypes(program.getTypeChecker(), join(root, "dist")),
);
problems.push(...diagnostics);
if (problems.length > 0) {
  console.error(ts.formatDiagnostics(problems, host));
  process.exitCode = 1;
}
