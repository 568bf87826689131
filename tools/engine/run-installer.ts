/**
 * Installs Pulumi into the folder given as the argument, with the installer of Pulumi's SDK. Runs in a
 * separate process, because the installer cannot be cancelled. Requests a small page first, because without
 * the internet the installer would wait for minutes.
 */
import process from "node:process";
import { PulumiCommand } from "@pulumi/pulumi/automation/index.js";

const [root] = process.argv.slice(2);
try {
  await fetch("https://get.pulumi.com/install.sh", { method: "HEAD", signal: AbortSignal.timeout(15_000) });
  await PulumiCommand.install({ root });
} catch (error) {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  console.error([message.trim(), cause instanceof Error ? cause.message : ""].filter(Boolean).join(": "));
  process.exitCode = 1;
}
