import { Command } from "commander";
import { resolve } from "node:path";
import { commandLine } from "../errors/index.js";
import { toJsonLine } from "../lib/plain-text.js";
import { quote } from "../lib/redact.js";
import type { changeKept } from "../server/remote.js";
import type { DeadLetter, KeptDelivery, SpoolFile } from "../server/spool/index.js";
import { parseCount, parseUrl, requestSecondsOption } from "./option-values.js";
import { ENDINGS, EXIT, note, print, printResult } from "./output.js";
import { runToExit } from "./run-command.js";
import { UsageError } from "./usage-error.js";

const DEFAULT_LIMIT = 100;
const ROWS_A_READ = 100;

/** The data folder, named directly or by the responder's configuration, and one of the responder's workspaces. */
interface PlaceOptions {
  dataDir?: string;
  config?: string;
  workspace?: string;
  json?: boolean;
}

type ListOptions = PlaceOptions & { limit: number };
type ResendOptions = PlaceOptions & { to: string; requestSeconds: number };
type Row = KeptDelivery | DeadLetter;
type ReadPage = (spool: SpoolFile, page: Parameters<SpoolFile["list"]>[0]) => readonly Row[];

export const deliveriesCommand = (): Command =>
  listCommand("deliveries", (spool, page) => spool.list(page))
    .description("list deliveries that were acknowledged but not yet forwarded")
    .addHelpText("after", DELIVERIES_HELP)
    // Options after the name of the subcommand belong to the subcommand.
    .enablePositionalOptions()
    .addCommand(resendCommand());

const resendCommand = (): Command =>
  placeCommand("resend")
    .description("send a delivery or dead letter to a URL, as forwarding would, and keep it in its list")
    .argument("<id>", "id of the delivery or dead letter")
    .requiredOption("--to <url>", "URL of your program", parseUrl)
    .addOption(requestSecondsOption("how long the response may take"))
    .option("--json", "print { httpStatus, ms }")
    .addHelpText("after", RESEND_HELP)
    .action((id: string, options: ResendOptions) =>
      onSpool(options, async ({ spool, signal }) => {
        const kept = spool.find(id);
        if (kept === undefined)
          throw new Error(
            `no delivery has the id ${quote(id, [])}; to list all, run ${commandLine()} responder deliveries`,
          );
        // Loaded here, because `--help` needs no HTTP client.
        const [{ headersToForward }, { deliverOnce }] = await Promise.all([
          import("../server/index.js"),
          import("./deliver.js"),
        ]);
        return deliverOnce(options, headersToForward(kept), kept.body, signal);
      }),
    );

export const deadLettersCommand = (): Command =>
  listCommand("dead-letters", (spool, page) => spool.listDeadLetters(page))
    .description("list deliveries that could not be forwarded, with the reason")
    .addHelpText("after", DEAD_LETTERS_HELP);

export const replayCommand = (): Command =>
  placeCommand("replay")
    .description("forward dead letters again: the given ids, or --all")
    .argument("[ids...]", "ids of dead letters; apichat responder dead-letters lists them")
    .option("--all", "every dead letter")
    .option("--workspace <name>", "with --all: only those of this workspace")
    .option("--json", 'print { "replayed": n }')
    .addHelpText("after", REPLAY_HELP)
    .action(replay);

export const retryCommand = (): Command =>
  placeCommand("retry")
    .description("retry waiting deliveries now, for example when the target is back")
    .option("--workspace <name>", "only those of this workspace")
    .option("--json", 'print { "retried": n }, where n is how many conversations were waiting')
    .addHelpText("after", RETRY_HELP)
    .action(retry);

const listCommand = (name: string, read: ReadPage): Command =>
  placeCommand(name)
    .option("--workspace <name>", "only those of this workspace")
    .option("--limit <n>", "how many to print at most", parseCount, DEFAULT_LIMIT)
    .option("--json", "print one JSON object per line, with headers and body")
    .action((options: ListOptions) => list(options, name.replace("-", " "), read));

const placeCommand = (name: string): Command =>
  new Command(name)
    .option("--data-dir <dir>", "data folder of the responder")
    .option("--config <file>", "configuration that names the data folder")
    // commander gives an option before a subcommand's name to the parent command: copy it to the subcommand.
    .hook("preAction", (_, command) => {
      Object.assign(command.opts(), { ...command.optsWithGlobals(), ...command.opts() });
    });

const DELIVERIES_HELP = `
For each failed delivery, prints the reason and the time of the next attempt (with --json: "failure" and
"nextAttemptAt"). Later deliveries of its conversation wait for the failed one. To retry now: apichat responder retry.

Examples:
  $ apichat responder deliveries --config /etc/apichat/responder.json
  $ apichat responder deliveries --data-dir /var/lib/apichat --workspace acme --limit 10 --json
${ENDINGS}`;

const RESEND_HELP = `
The body is sent byte for byte, with the headers and the id that forwarding uses. Any 2xx is success.

Examples:
  $ apichat responder deliveries resend 3f0c8f0e-8f57-4f5e-9a53-0d6d3a3c0f5e --to http://127.0.0.1:3000/ --data-dir kept
${ENDINGS}`;

const DEAD_LETTERS_HELP = `
Examples:
  $ apichat responder dead-letters --config /etc/apichat/responder.json
  $ apichat responder dead-letters --data-dir /var/lib/apichat --workspace acme --json
${ENDINGS}`;

const REPLAY_HELP = `
A running responder forwards the dead letters at once; if none runs, the next one to start does. The ids stay the same.

Examples:
  $ apichat responder replay 3f0c8f0e-8f57-4f5e-9a53-0d6d3a3c0f5e --config /etc/apichat/responder.json
  $ apichat responder replay --all --data-dir /var/lib/apichat --workspace acme
${ENDINGS}
Also 1 if an id does not belong to a dead letter.`;

const RETRY_HELP = `
After a failed attempt, the responder waits 1 second to 5 minutes before the next one, or as long as the target's
Retry-After says.

Examples:
  $ apichat responder retry --config /etc/apichat/responder.json
  $ apichat responder retry --data-dir /var/lib/apichat --workspace acme
${ENDINGS}`;

const list = (options: ListOptions, what: string, read: ReadPage): Promise<void> =>
  onSpool(options, async ({ spool }) => {
    const { workspace, limit, json } = options;
    let shown = 0;
    for (const row of readAll((after) => read(spool, { workspace, after, limit: ROWS_A_READ }))) {
      if (shown === limit) {
        note("there are more: see --limit");
        break;
      }
      print(json ? toJsonLine(deliveryToJson(row)) : formatDelivery(row));
      shown += 1;
    }
    if (shown === 0) note(noneOf(what, options));
    return EXIT.done;
  });

/** Reads page after page, so that a long list is never held in memory. */
function* readAll(readAfter: (position: number) => readonly Row[]): Generator<Row> {
  for (let rows = readAfter(0); rows.length > 0; rows = readAfter(rows.at(-1)?.position ?? 0)) yield* rows;
}

const noneOf = (what: string, { workspace }: PlaceOptions): string =>
  workspace === undefined ? `no ${what}` : `no ${what} of workspace ${workspace}`;

const SHOWN_BODY_CHARACTERS = 200;

/** One delivery for scripts: times in ISO 8601; the body as text, or in base64 if it is not UTF-8. */
function deliveryToJson(row: Row): Record<string, unknown> {
  const { id, workspace, conversation, acceptedMs, attempts, failure, dueMs, headers, body } = row;
  return {
    id,
    workspace,
    conversation,
    acceptedAt: toTime(acceptedMs),
    ...("buriedMs" in row && { deadLetteredAt: toTime(row.buriedMs) }),
    attempts,
    failure,
    ...(dueMs !== undefined && { nextAttemptAt: toTime(dueMs) }),
    headers,
    ...bodyToJson(body),
  };
}

function bodyToJson(body: Uint8Array): { body: string } | { bodyBase64: string } {
  try {
    // Keep a byte order mark: it is part of what was signed.
    return { body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body) };
  } catch {
    return { bodyBase64: Buffer.from(body).toString("base64") };
  }
}

/** One delivery for people: what it is, why it is still there, and the start of its body. */
function formatDelivery(row: Row): string {
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

const replay = (ids: string[], options: PlaceOptions & { all?: boolean }): Promise<void> =>
  onSpool(options, async (place) => {
    const { all = false, workspace } = options;
    if (all === ids.length > 0) throw new UsageError("pass either ids of dead letters or --all");
    if (workspace !== undefined && !all) throw new UsageError("--workspace requires --all");
    const unknown = place.spool.findUnknown(ids);
    const choice = all ? { workspace } : { ids };
    const replayed = await change(options, "replayed", place, (kept) => kept.replay(choice));
    if (unknown.length > 0) {
      const those = unknown.map((id) => quote(id, [])).join(", ");
      throw new Error(`not dead letters: ${those}; to list all, run ${commandLine()} responder dead-letters`);
    }
    if (replayed === 0) note(noneOf("dead letters", options));
    return EXIT.done;
  });

const retry = (options: PlaceOptions): Promise<void> =>
  onSpool(options, async (place) => {
    const { workspace } = options;
    const workspaces = workspace === undefined ? undefined : [workspace];
    const retried = await change(options, "retried", place, (kept) => kept.retry(workspaces));
    if (retried === 0) note(noneOf("waiting deliveries", options));
    return EXIT.done;
  });

/** Makes a change, then prints and returns how many items it affected: with `--json`, as the field `name`. */
async function change(
  options: PlaceOptions,
  name: string,
  { spool, dataDir }: KeptPlace,
  make: Parameters<typeof changeKept>[2],
): Promise<number> {
  // Loaded here, because `--help` needs no HTTP.
  const remote = await import("../server/remote.js");
  const { count, isRunning } = await remote.changeKept(dataDir, spool, make);
  const when = isRunning ? "" : " when the responder starts";
  printResult(options, { [name]: count }, () =>
    count > 0 ? `${count} will be forwarded again${when}\n` : "",
  );
  return count;
}

interface KeptPlace {
  spool: SpoolFile;
  dataDir: string;
  signal: AbortSignal;
}

/** Runs `work`, even while the responder runs. Throws a UsageError unless exactly one option names the folder. */
const onSpool = (
  { dataDir: named, config }: PlaceOptions,
  work: (place: KeptPlace) => Promise<number>,
): Promise<void> =>
  runToExit({}, async ({ signal }) => {
    if ((named === undefined) === (config === undefined)) {
      throw new UsageError("name the data folder: either --data-dir <dir> or --config <file>");
    }
    // Loaded here, because `--help` needs no zod.
    const { dataDir } =
      config === undefined
        ? { dataDir: resolve(named ?? "") }
        : await (await import("../server/remote.js")).readPlace(config);
    const { findSpool } = await import("../server/spool/index.js");
    const spool = findSpool(dataDir);
    if (spool === undefined) {
      throw new UsageError(
        `no responder has run on ${dataDir} yet, so no deliveries are kept; start one, or name another data folder`,
      );
    }
    return work({ spool, dataDir, signal }).finally(() => spool.close());
  });
