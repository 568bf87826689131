#!/usr/bin/env node
import { isOlder, LEAST_NODE } from "./doctor/versions.js";

// Everything else is loaded behind this: an old Node fails in the middle of it, with a stack of some library.
const { node } = process.versions;
if (isOlder(node, LEAST_NODE)) {
  const message = `apichat needs Node ${LEAST_NODE} or newer, this is ${node}; install it from https://nodejs.org, or put a newer one first in PATH`;
  const isForScripts = process.argv.includes("--json");
  console.error(isForScripts ? JSON.stringify({ error: { code: "failed", message } }) : `error: ${message}`);
  process.exitCode = 1;
} else {
  await import("./program.js");
}
