#!/usr/bin/env node
import { oldNodeProblem } from "../lib/version.js";

// Everything else is loaded behind this: an old Node fails in the middle of it, with a stack of some library.
const message = oldNodeProblem("apichat");
if (message !== undefined) {
  const isForScripts = process.argv.includes("--json");
  console.error(isForScripts ? JSON.stringify({ error: { code: "failed", message } }) : `error: ${message}`);
  process.exitCode = 1;
} else {
  const { runProgram } = await import("./program.js");
  await runProgram();
}
