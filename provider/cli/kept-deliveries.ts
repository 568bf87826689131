import { type Command, InvalidArgumentError } from "commander";
import type { DeadLetter, KeptDelivery } from "../server/spool/database.js";
import type { Spool } from "../server/spool/spool.js";
import { note } from "./output.js";
import { EXIT_CODES, placeCommand, type PlaceOptions, withSpool } from "./open-kept-spool.js";
import { toJsonLine } from "./plain-text.js";
import { quote } from "../lib/redact.js";

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
      list(options, "dead letters", (spool, page) => spool.deadLetters.list(page)),
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

const SHOWN_BODY_CHARACTERS = 200;

/** One kept delivery for scripts: times in ISO 8601; the body as text, or in base64 if it is not UTF-8. */
export function deliveryToJson(row: KeptDelivery | DeadLetter): Record<string, unknown> {
  const { id, workspace, conversation, acceptedMs, attempts, failure, dueMs, headers, body } = row;
  const text = toText(body);
  return {
    id,
    workspace,
    conversation,
    acceptedAt: toTime(acceptedMs),
    ...("buriedMs" in row && { buriedAt: toTime(row.buriedMs) }),
    attempts,
    failure,
    ...(dueMs !== undefined && { nextAttemptAt: toTime(dueMs) }),
    headers,
    ...(text === undefined ? { bodyBase64: Buffer.from(body).toString("base64") } : { body: text }),
  };
}

/** One kept delivery for people: what it is, why it is still there, and the start of its body. */
export function formatDelivery(row: KeptDelivery | DeadLetter): string {
  const { id, workspace, conversation, acceptedMs, attempts, failure, dueMs, body } = row;
  const place =
    conversation === undefined ? workspace : `${workspace}, conversation ${quote(conversation, [])}`;
  const tried = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  const next = dueMs === undefined ? "" : `; next attempt ${toTime(dueMs)}`;
  const why = failure === undefined ? "" : `\n  ${tried}: ${quote(failure, [])}${next}`;
  const start = quote(new TextDecoder().decode(body), [], SHOWN_BODY_CHARACTERS);
  return `${id}  ${toTime(acceptedMs)}  ${place}${why}\n  ${start}\n`;
}

const toTime = (ms: number): string => new Date(ms).toISOString();

function toText(body: Uint8Array): string | undefined {
  try {
    // A byte order mark is part of what was signed.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    // Not UTF-8: the caller has another way.
    return undefined;
  }
}
