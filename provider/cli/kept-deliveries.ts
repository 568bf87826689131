import { InvalidArgumentError, type Command } from "commander";
import type { DeadLetter, KeptDelivery } from "../server/spool-rows.js";
import type { Spool } from "../server/spool.js";
import { deliveryToJson, formatDelivery } from "./delivery-lines.js";
import { note } from "./output.js";
import { EXIT_CODES, placeCommand, withSpool, type PlaceOptions } from "./open-kept-spool.js";
import { toJsonLine } from "./plain-text.js";

interface ListOptions extends PlaceOptions {
  json?: boolean;
  limit: number;
}

const DEFAULT_LIMIT = 100;
const ROWS_A_READ = 100;

/** The command `apichat responder deliveries`: lists what was acknowledged and is not forwarded yet. */
export function deliveriesCommand(): Command {
  return listCommand("deliveries", "list what was acknowledged and is not forwarded yet")
    .addHelpText("after", DELIVERIES_HELP)
    .action((options: ListOptions) => list(options, "deliveries", (spool, page) => spool.list(page)));
}

/** The command `apichat responder dead-letters`: lists what could not be forwarded. */
export function deadLettersCommand(): Command {
  return listCommand("dead-letters", "list what could not be forwarded, with the reason")
    .addHelpText("after", DEAD_LETTERS_HELP)
    .action((options: ListOptions) =>
      list(options, "dead letters", (spool, page) => spool.listDeadLetters(page)),
    );
}

const DELIVERIES_HELP = `
Of each delivery that has failed it shows why and when the next attempt is due: "failure" and "nextAttemptAt" with
--json. Later deliveries of its conversation wait behind it. Do not want to wait: apichat responder retry.

Examples:
  $ apichat responder deliveries --config /etc/apichat/responder.json
  $ apichat responder deliveries --data-dir /var/lib/apichat --workspace acme --limit 10 --json
${EXIT_CODES}`;

const DEAD_LETTERS_HELP = `
Examples:
  $ apichat responder dead-letters --config /etc/apichat/responder.json
  $ apichat responder dead-letters --data-dir /var/lib/apichat --workspace acme --json
${EXIT_CODES}`;

function listCommand(name: string, description: string): Command {
  return placeCommand(name, description)
    .option("--workspace <name>", "only of this workspace")
    .option("--limit <n>", "how many at most", parseCount, DEFAULT_LIMIT)
    .option("--json", "one JSON object a line, with headers and body");
}

function parseCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}

interface Page {
  workspace: string | undefined;
  limit: number;
  after: number;
}

type Rows = readonly (KeptDelivery | DeadLetter)[];

async function list(
  options: ListOptions,
  what: string,
  read: (spool: Spool, page: Page) => Rows,
): Promise<void> {
  await withSpool(options, (spool) => printRows(options, what, (page) => read(spool, page)));
}

/** Prints page after page, so that a long list is never in memory as a whole. */
function printRows({ workspace, limit, json }: ListOptions, what: string, read: (page: Page) => Rows): void {
  let left = limit;
  let after = 0;
  for (;;) {
    const rows = read({ workspace, after, limit: Math.min(left, ROWS_A_READ) });
    for (const row of rows) {
      process.stdout.write(json ? toJsonLine(deliveryToJson(row)) : formatDelivery(row));
      after = row.position;
    }
    left -= rows.length;
    if (rows.length < ROWS_A_READ || left === 0) break;
  }
  if (left === limit) note(workspace === undefined ? `no ${what}` : `none of workspace ${workspace}`);
  if (left === 0 && read({ workspace, after, limit: 1 }).length > 0) note("there are more: see --limit");
}
