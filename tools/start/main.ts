/** `npm start`: the provider's main job, with real Pulumi commands against a service on this machine. */
import { Command } from "commander";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { exportLine } from "../engine/environment.ts";
import { resolveEngine } from "../engine/resolve.ts";
import { abortOnSignals, CommandError, Interrupted } from "../lib/run.ts";
import { setStage, type Stage } from "./stage.ts";
import {
  destroyAll,
  exchangeMessages,
  readFromAnotherStack,
  registerWebhooks,
  repairDrift,
} from "./story.ts";
import { Shell, printFailure, printHeading, printPaste, printResult } from "./terminal.ts";

const command = new Command("npm start --")
  .description(
    "Shows the provider's main job on this machine, with an emulator of the service, a local receiver, and real Pulumi commands on a file " +
      "backend. Registers three webhooks, sends a message and gets the reply, repairs a drift, reads bot_url from another stack, and " +
      "destroys everything. Takes less than a minute.",
  )
  .option("--keep", "stop after the message, print how to look around, and wait for Ctrl-C");

async function main({ keep }: { keep?: true }): Promise<void> {
  const closed = new AbortController();
  // Nobody reads the output any more.
  process.stdout.on("error", (error) => closed.abort(error));
  const signal = AbortSignal.any([abortOnSignals(), closed.signal]);
  const engine = await resolveEngine(signal);
  await using stage = await setStage(engine);
  const shell = new Shell(stage.folder, stage.environment, signal);
  printResult(`The service is an emulator at ${stage.emulator.url}, the receiver is at ${stage.webhookUrl}`);
  await registerWebhooks(stage, shell);
  await exchangeMessages(stage);
  if (keep) await lookAround(stage, signal);
  await repairDrift(stage, shell);
  await readFromAnotherStack(stage, shell);
  await destroyAll(stage, shell);
  if (engine.source === "path") return;
  printResult("To have this pulumi and Node 24 in your terminal:");
  printPaste(exportLine(engine));
}

/** Prints how to look around in another terminal, and waits until the run is ended. */
async function lookAround(stage: Stage, signal: AbortSignal): Promise<never> {
  const { emulator, webhookUrl, folder } = stage;
  printHeading("Everything keeps running until Ctrl-C. To look around, paste this into another terminal:");
  for (const [name, value] of settings(stage)) printPaste(`export ${name}=${value}`);
  printPaste(`cd ${join(folder, "workspaces")}`);
  printPaste("pulumi stack");
  printPaste("pulumi up");
  // By environment: a command line is visible to every user of the machine.
  printPaste("export APICHAT_API_KEY=$(pulumi config get apichat:apiKey)");
  printPaste(`apichat webhook get --base-url ${emulator.workspace("acme").baseUrl} --json`);
  printResult(
    `the service is at ${emulator.url}, its bots at ${emulator.botUrl}, the receiver at ${webhookUrl}`,
  );
  printResult(`open ${emulator.url}/_emulator/ in a browser to play the contact, and see every request`);
  if (!signal.aborted) await once(signal, "abort");
  throw signal.reason;
}

/** What differs from this process's environment, as a shell reads it. */
function settings({ environment }: Stage): [string, string][] {
  const ownPath = `:${process.env["PATH"]}`;
  return Object.entries(environment)
    .filter(([name, value]) => value !== undefined && value !== process.env[name] && name !== "TMPDIR")
    .map(([name, value = ""]) =>
      name === "PATH" && value.endsWith(ownPath)
        ? [name, `"${value.slice(0, -ownPath.length)}:$PATH"`]
        : [name, `'${value}'`],
    );
}

try {
  await main(command.parse().opts());
} catch (error) {
  const { message } = error instanceof Error ? error : new Error(String(error));
  process.exitCode = 1;
  if (error instanceof Interrupted) {
    printFailure("Interrupted; everything is stopped and removed.");
    process.exitCode = error.exitCode;
  } else if (error instanceof CommandError) {
    if (error.output !== "") printResult(error.output.replaceAll("\n", "\n  "));
    printFailure(error.reason);
  } else printFailure(message);
}
