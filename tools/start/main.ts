/** `npm start`: the provider's main job, with real Pulumi commands against a service on this machine. */
import process from "node:process";
import { parseArgs } from "node:util";
import { exportLine } from "../engine/environment.ts";
import { resolveEngine } from "../engine/resolve.ts";
import { abortOnSignals, Interrupted } from "../setup/run.mjs";
import { lookAround } from "./look-around.ts";
import { createShell, StepError } from "./shell.ts";
import { withStage, type Stage } from "./stage.ts";
import {
  exchangeMessages,
  destroyAll,
  readFromAnotherStack,
  registerWebhooks,
  repairDrift,
  type Scene,
} from "./story.ts";
import { createTerminal } from "./terminal.ts";

const usage = `Usage: npm start [-- --keep]

Shows the provider's main job on this machine: an emulator of the service, a local receiver, and real Pulumi commands
on a file backend. Registers three webhooks, sends a message and gets the reply, repairs a change made by somebody else, reads bot_url
from another stack, and destroys everything. Takes less than a minute; nothing stays behind.

  --keep   leave everything up at the end, say how to look around (a page in the browser too), and wait for Ctrl-C
  --help   print this`;

const terminal = createTerminal();

/** Ends on a signal, and when nobody reads the output any more. */
function endOfRun(): AbortSignal {
  const closed = new AbortController();
  process.stdout.on("error", (error) => closed.abort(error));
  return AbortSignal.any([abortOnSignals(), closed.signal]);
}

async function play(stage: Stage, options: { keep: boolean; signal: AbortSignal }): Promise<void> {
  const { folder: root, environment: env, emulator, receiver } = stage;
  const shell = createShell({ terminal, root, env, signal: options.signal });
  const scene: Scene = { stage, shell, terminal };
  terminal.result(`The service is an emulator at ${emulator.url}, the receiver is at ${receiver.url}`);
  await registerWebhooks(scene);
  await exchangeMessages(scene);
  await repairDrift(scene);
  await readFromAnotherStack(scene);
  if (options.keep) await lookAround(stage, terminal, options.signal);
  await destroyAll(scene);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      keep: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const signal = endOfRun();
  const engine = await resolveEngine({ signal });
  await withStage(engine, (stage) => play(stage, { keep: values.keep, signal }));
  if (engine.source !== "path") {
    terminal.result("To have this pulumi in your terminal:");
    terminal.paste(exportLine(engine));
  }
  return 0;
}

/** Says what went wrong; the exit code of it. */
function explain(error: unknown): number {
  if (error instanceof Interrupted) {
    terminal.failure("Interrupted; everything is stopped and removed.");
    return error.exitCode;
  }
  if (error instanceof StepError && error.output !== "")
    terminal.result(error.output.replaceAll("\n", "\n  "));
  terminal.failure(error instanceof Error ? error.message : String(error));
  return 1;
}

process.exitCode = await main().catch(explain);
