/** `npm start`: shows the provider's main job, with real Pulumi commands against a service on this machine. */
import { Command } from "commander";
import process from "node:process";
import { exportLine } from "../engine/environment.ts";
import { resolveEngine } from "../engine/resolve.ts";
import { abortOnSignals, runTool } from "../lib/run.ts";
import { setStage } from "./stage.ts";
import { destroyAll, exchangeMessages, readInAnotherStack, registerWebhooks, repairDrift } from "./story.ts";
import { createShell, printPaste, printResult } from "./terminal.ts";

const command = new Command("npm start --").description(
  "Shows the provider's main job on this machine, with an emulator of the service, a local receiver, " +
    "and real Pulumi commands on a file backend. Registers three webhooks, sends a message and receives " +
    "the reply, repairs drift, reads bot_url from another stack, and destroys everything. " +
    "Takes less than a minute.",
);

await runTool(async () => {
  command.parse();
  const closed = new AbortController();
  // Stops if nothing reads stdout any more.
  process.stdout.on("error", (error) => closed.abort(error));
  const signal = AbortSignal.any([abortOnSignals(), closed.signal]);
  const engine = await resolveEngine(signal);
  await using stage = await setStage(engine);
  const shell = createShell(stage.folder, stage.environment, signal);
  printResult(`The service is an emulator at ${stage.emulator.url}; the receiver is at ${stage.webhookUrl}`);
  await registerWebhooks(stage, shell);
  await exchangeMessages(stage);
  await repairDrift(stage, shell);
  await readInAnotherStack(stage, shell);
  await destroyAll(stage, shell);
  if (engine.source === "path") return;
  printResult("To use this pulumi and Node 24 in your terminal:");
  printPaste(exportLine(engine));
});
