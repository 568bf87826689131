#!/usr/bin/env node
import { oldNodeProblem } from "../lib/version.js";

// Everything else is loaded after this check, because an old Node would fail with a library's stack trace.
const message = oldNodeProblem("apichat");
if (message !== undefined) {
  const isForScripts = process.argv.includes("--json");
  console.error(isForScripts ? JSON.stringify({ error: { code: "failed", message } }) : `error: ${message}`);
  process.exitCode = 1;
} else {
  const { runProgram } = await import("./program.js");
  await runProgram();
}
