#!/usr/bin/env node
/** What the engine starts. Nothing here may need a Node that is new enough: the rest is loaded behind the look at it. */
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
  // A fifth of the CPU of a start. Not Node's default folder: in /tmp it may be another user's, and what is there is run.
  if (caches !== undefined) enableCompileCache(join(caches, "pulumi-apichat", "compiled"));
  await import("./main.js");
}
