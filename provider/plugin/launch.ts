#!/usr/bin/env node
/** The program that the engine starts. It runs on any Node, and checks the version before it loads the rest. */
import { isAbsolute, join } from "node:path";
import { oldNodeProblem } from "../lib/version.js";

const problem = oldNodeProblem("pulumi-resource-apichat");
if (problem === undefined) {
  void start();
} else {
  process.stderr.write(`error: ${problem}\n`);
  process.exitCode = 1;
}

async function start(): Promise<void> {
  const { enableCompileCache } = await import("node:module");
  const { XDG_CACHE_HOME = "", HOME = "", USERPROFILE = HOME } = process.env;
  const caches = [XDG_CACHE_HOME, join(USERPROFILE, ".cache")].find((folder) => isAbsolute(folder));
  // The cache saves a fifth of the CPU time at startup. Node's default folder in /tmp may belong to another
  // user, and the cache's contents are executed, so the cache is in a different folder.
  if (caches !== undefined) enableCompileCache(join(caches, "pulumi-apichat", "compiled"));
  await import("./main.js");
}
