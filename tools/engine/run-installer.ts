/** Runs the installer of Pulumi's SDK into the folder given as the argument: in a process of its own, because it cannot be cancelled. */
import process from "node:process";
import { PulumiCommand } from "@pulumi/pulumi/automation/index.js";

const [root] = process.argv.slice(2);
try {
  await PulumiCommand.install({ root });
} catch (error) {
  console.error(error instanceof Error ? error.message.trim() : error);
  process.exitCode = 1;
}
