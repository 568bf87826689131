/** `npm start`: the provider's main job, with real Pulumi commands against a service on this machine. */
import { Command } from "commander";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import type { Engine } from "../engine/engine.ts";
import { exportLine } from "../engine/environment.ts";
import { resolveEngine } from "../engine/resolve.ts";
import { abortOnSignals, CommandError, Interrupted } from "../lib/run.ts";
import { setStage, type Stage } from "./stage.ts";
import {
  exchangeMessages,
  destroyAll,
  readFromAnotherStack,
  registerWebhooks,
  repairDrift,
} from "./story.ts";
import { Shell, printFailure, printHeading, printPaste, printResult } from "./terminal.ts";

const command = new Command("npm start --")
  .description(
    `Shows the provider's main job on this machine: an emulator of the service, a local receiver, and real Pulumi commands on a file backend. Registers three webhooks, sends a message and gets the reply, repairs a change made by somebody else, reads bot_url from another stack, and destroys everything. Takes less than a minute; nothing stays behind.`,
  )
  .option(
    "--keep",
    "stop after the message, leave everything up, print how to look around (a page in the browser too), and wait for Ctrl-C",
  );

/** Ends on a signal, and when nobody reads the output any more. */
function endOfRun(): AbortSignal {
  const closed = new AbortController();
  process.stdout.on("error", (error) => closed.abort(error));
  return AbortSignal.any([abortOnSignals(), closed.signal]);
}

async function play(engine: Engine, keep: boolean, signal: AbortSignal): Promise<void> {
  await using stage = await setStage(engine);
  const { emulator, webhookUrl } = stage;
  const shell = new Shell(stage.folder, stage.environment, signal);
  printResult(`The service is an emulator at ${emulator.url}, the receiver is at ${webhookUrl}`);
  await registerWebhooks(stage, shell);
  await exchangeMessages(stage);
  if (keep) await lookAround(stage, signal);
  await repairDrift(stage, shell);
  await readFromAnotherStack(stage, shell);
  await destroyAll(stage, shell);
}

/** Prints how to look around in another terminal, and waits until the run is ended. */
async function lookAround(stage: Stage, signal: AbortSignal): Promise<never> {
  const { emulator, webhookUrl, folder } = stage;
  printHeading("All of it stays up until Ctrl-C. To look around, paste this into another terminal:");
  for (const [name, value] of settings(stage)) printPaste(`export ${name}=${value}`);
  printPaste(`cd ${join(folder, "workspaces")}`);
  printPaste("pulumi stack");
  printPaste("pulumi up");
  // By environment: a command line is open to every user of the machine.
  printPaste("export APICHAT_API_KEY=$(pulumi config get apichat:apiKey)");
  printPaste(`apichat webhook get --base-url ${emulator.workspace("acme").baseUrl} --json`);
  printResult(
    `the service is at ${emulator.url}, its bots at ${emulator.botUrl}, the receiver at ${webhookUrl}`,
  );
  printResult(`open ${emulator.url}/_emulator/ in a browser to play the contact, and see every request`);
  // Timers and sockets of the emulator and the receiver keep the process alive.
  if (!signal.aborted) await once(signal, "abort");
  throw signal.reason;
}

/** What differs from the environment that this command was started with, as a shell reads it. */
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

async function main({ keep }: { keep?: true }): Promise<number> {
  const signal = endOfRun();
  const engine = await resolveEngine(signal);
  await play(engine, keep === true, signal);
  if (engine.source !== "path") {
    printResult("To have this pulumi and Node 24 in your terminal:");
    printPaste(exportLine(engine));
  }
  return 0;
}

/** Prints what went wrong, and gives its exit code. */
function explain(error: unknown): number {
  if (error instanceof Interrupted) {
    printFailure("Interrupted; everything is stopped and removed.");
    return error.exitCode;
  }
  const { reason, output } =
    error instanceof CommandError
      ? error
      : { reason: error instanceof Error ? error.message : String(error), output: "" };
  if (output !== "") printResult(output.replaceAll("\n", "\n  "));
  printFailure(reason);
  return 1;
}

process.exitCode = await main(command.parse().opts()).catch(explain);
