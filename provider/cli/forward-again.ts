import type { Command } from "commander";
import { quote } from "../lib/redact.js";
import type { Spool } from "../server/spool/spool.js";
import { note } from "./output.js";
import { EXIT_CODES, placeCommand, withSpool, type PlaceOptions } from "./open-kept-spool.js";
import { UsageError } from "./usage-error.js";

interface RetryOptions extends PlaceOptions {
  json?: boolean;
}

interface ReplayOptions extends RetryOptions {
  all?: boolean;
}

/** The command `apichat responder replay`: has dead letters forwarded again, under the same ids. */
export function replayCommand(): Command {
  return placeCommand("replay", "forward dead letters again: those of the given ids, or --all")
    .argument("[ids...]", "ids of dead letters; apichat responder dead-letters lists them")
    .option("--all", "every dead letter")
    .option("--workspace <name>", "with --all: only of this workspace")
    .option("--json", 'print { "replayed": n }')
    .addHelpText("after", REPLAY_HELP)
    .action(replay);
}

/** The command `apichat responder retry`: has what waits for its next attempt forwarded at once. */
export function retryCommand(): Command {
  return placeCommand("retry", "forward at once what waits for its next attempt: the target is back")
    .option("--workspace <name>", "only of this workspace")
    .option("--json", 'print { "retried": n }: how many conversations waited')
    .addHelpText("after", RETRY_HELP)
    .action(retry);
}

const REPLAY_HELP = `
A responder that runs forwards them at once, else the next start does. The ids stay the same.

Examples:
  $ apichat responder replay 3f0c8f0e-8f57-4f5e-9a53-0d6d3a3c0f5e --config /etc/apichat/responder.json
  $ apichat responder replay --all --data-dir /var/lib/apichat --workspace acme
${EXIT_CODES} 1 also if one of the ids is no dead letter.`;

const RETRY_HELP = `
After a failed attempt the next one waits from 1 second up to 5 minutes, or as long as the target's Retry-After demands.

Examples:
  $ apichat responder retry --config /etc/apichat/responder.json
  $ apichat responder retry --data-dir /var/lib/apichat --workspace acme
${EXIT_CODES}`;

async function replay(ids: string[], options: ReplayOptions): Promise<void> {
  const { all = false, workspace } = options;
  if (all === ids.length > 0) throw new UsageError("give either ids of dead letters or --all");
  if (workspace !== undefined && !all) throw new UsageError("--workspace goes with --all");
  await withSpool(options, async (spool, dataDir) => {
    const unknown = spool.deadLetters.findUnknown(ids);
    const replayed = await spool.deadLetters.replay(all ? { all, workspace } : { ids });
    await report(options, { dataDir, name: "replayed", count: replayed });
    if (unknown.length > 0) {
      const list = unknown.map((id) => quote(id, [])).join(", ");
      throw new Error(`no dead letters: ${list}; apichat responder dead-letters lists those that there are`);
    }
    if (replayed === 0) note(workspace === undefined ? "no dead letters" : `none of workspace ${workspace}`);
  });
}

async function retry(options: RetryOptions): Promise<void> {
  const { workspace } = options;
  await withSpool(options, async (spool: Spool, dataDir) => {
    const retried = await spool.retryNow(workspace);
    await report(options, { dataDir, name: "retried", count: retried });
    const whose = workspace === undefined ? "" : ` of workspace ${workspace}`;
    if (retried === 0) note(`nothing${whose} waits for its next attempt`);
  });
}

interface Result {
  dataDir: string;
  /** What scripts call it. */
  name: string;
  count: number;
}

/** Wakes the responder, if it runs, and prints how many there are. */
async function report({ workspace, json }: RetryOptions, { dataDir, name, count }: Result): Promise<void> {
  // Loaded here, because `--help` needs no HTTP.
  const { readInstance, requestWake } = await import("../server/control-client.js");
  const instance = await readInstance(dataDir);
  const isAwake = instance !== undefined && (await requestWake(instance, workspace));
  if (json) process.stdout.write(`${JSON.stringify({ [name]: count })}\n`);
  else if (count > 0)
    process.stdout.write(`${count} to be forwarded again${isAwake ? "" : ", when the responder runs"}\n`);
}
