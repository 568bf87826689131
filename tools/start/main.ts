/** `npm start`: shows the provider's main job, with real Pulumi commands against a service on this machine. */
import { Command } from "commander";
import process from "node:process";
import { exportLine } from "../engine/environment.ts";
import { resolveEngine } from "../engine/resolve.ts";
import { abortOnSignals, CommandError, Interrupted } from "../lib/run.ts";
import { setStage } from "./stage.ts";
import {
  destroyAll,
  exchangeMessages,
  readFromAnotherStack,
  registerWebhooks,
  repairDrift,
} from "./story.ts";
import { Shell, printFailure, printPaste, printResult } from "./terminal.ts";

const command = new Command("npm start --").description(
  "Shows the provider's main job on this machine, with an emulator of the service, a local receiver, " +
    "and real Pulumi commands on a file " +
    "backend. Registers three webhooks, sends a message and gets the reply, repairs a drift, " +
    "reads bot_url from another stack, and " +
    "destroys everything. Takes less than a minute.",
);

async function main(): Promise<void> {
  const closed = new AbortController();
  // The reader of the output has gone.
  process.stdout.on("error", (error) => closed.abort(error));
  const signal = AbortSignal.any([abortOnSignals(), closed.signal]);
  const engine = await resolveEngine(signal);
  await using stage = await setStage(engine);
  const shell = new Shell(stage.folder, stage.environment, signal);
  printResult(`The service is an emulator at ${stage.emulator.url}, the receiver is at ${stage.webhookUrl}`);
  await registerWebhooks(stage, shell);
  await exchangeMessages(stage);
  await repairDrift(stage, shell);
  await readFromAnotherStack(stage, shell);
  await destroyAll(stage, shell);
  if (engine.source === "path") return;
  printResult("To have this pulumi and Node 24 in your terminal:");
  printPaste(exportLine(engine));
}

try {
  command.parse();
  await main();
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
