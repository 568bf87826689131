/**
 * Overwrites `dist/` and `plugin/` in place, because programs may be running from them. It compiles as
 * `tsc` does, but the declarations of `dist/provider` do not refer to zod's: see plain-types.ts.
 */
import { chmodSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import ts from "typescript";
import { clone } from "../lib/clone.ts";
import { bundlePage } from "./page.ts";
import { writePlainTypes } from "./plain-types.ts";
import { bundlePlugin } from "./plugin.ts";

const begunMs = Date.now();

const { config } = ts.readConfigFile(join(clone, "tsconfig.json"), (path) => ts.sys.readFile(path));
const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, clone);
const program = ts.createProgram(fileNames, options);
const problems = [...ts.getPreEmitDiagnostics(program)];
const dist = join(clone, "dist");
const { diagnostics } = program.emit(undefined, writePlainTypes(program.getTypeChecker(), dist));
problems.push(...diagnostics);
if (problems.length > 0) {
  console.error(ts.formatDiagnostics(problems, ts.createCompilerHost(options)));
  process.exit(1);
}
// npm makes this file executable only when it links the command.
chmodSync(join(dist, "provider", "cli", "main.js"), 0o755);
await bundlePage(join(dist, "provider", "emulator", "page"));
await bundlePlugin(join(clone, "plugin"));

// Delete files that this build did not write.
for (const name of readdirSync(dist, { recursive: true })) {
  const path = join(dist, String(name));
  const status = statSync(path);
  if (status.isFile() && status.mtimeMs < begunMs - 1000) rmSync(path);
}
