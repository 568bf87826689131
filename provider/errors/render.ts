import type { Failure, FieldProblem, Hint } from "./failure.js";

/**
 * Who a message is for. `program`: authors of a Pulumi program and callers of a client. `command_line`: users of
 * `apichat`. `list`: users of `apichat` with a list of workspaces. `doctor`: users of commands without a time limit
 * option. `fleet`: users of a fleet.
 */
export type Audience = "program" | "command_line" | "list" | "doctor" | "fleet";

type Words<H> = string | ((hint: H, context: { audience: Audience; failure: Failure }) => string);

/** The words of a hint. An audience without an entry gets those of the next wider one: see {@link NEXT_AUDIENCE}. */
type Row<H> = { program: Words<H> } & Partial<Record<Audience, Words<H>>>;

const NEXT_AUDIENCE: Partial<Record<Audience, Audience>> = {
  command_line: "program",
  list: "command_line",
  doctor: "command_line",
  fleet: "program",
};

const ISSUED =
  "The API key is issued by the platform's support when the add-on is enabled, one per external system. Give it";

const FORGET = "if the webhook is gone for good, pulumi state delete <urn>";

const HINTS: { [Id in Hint["id"]]: Words<Extract<Hint, { id: Id }>> | Row<Extract<Hint, { id: Id }>> } = {
  give_api_key: {
    program: `${ISSUED} as apiKey, as APICHAT_API_KEY, or with: pulumi config set --secret apichat:apiKey`,
    command_line: `${ISSUED} with --api-key-file or APICHAT_API_KEY`,
    list: `${ISSUED} as apiKey or apiKeyEnv in the list, with --api-key-file or APICHAT_API_KEY`,
    fleet: `${ISSUED} as APICHAT_API_KEY, or as apiKey or apiKeyEnv in the list`,
  },
  check_api_key: "Is the API key right?",
  rotated_api_key:
    "Refresh and destroy know the key of the last pulumi up: if it was rotated since, set APICHAT_API_KEY for this command, or run pulumi up first",
  check_flow_api_key: (_, { audience }) =>
    'The flow API key is not the API key of the registration interface; it needs the permission "Gerenciar Fluxo" (manage flow). ' +
    'The specification does not say how to send it. The default is "Authorization: Bearer"; ' +
    `${fieldName("flowApiKeyAs", audience)} selects another way`,
  check_base_url: (_, { audience }) =>
    `Is this the address of the registration interface? Check ${fieldName("baseUrl", audience)}`,
  forget_workspace: {
    program: "If the workspace no longer exists, pulumi state delete <urn>",
    command_line: "",
  },
  check_connection: ({ address }, { audience }) =>
    `Check ${fieldName(address, audience)}, or try again when the service is up`,
  start_emulator: ({ address }, { audience }) =>
    `For the emulator, run npx apichat emulator; else check ${fieldName(address, audience)}`,
  set_final_address: ({ address }, { audience }) =>
    `Set ${fieldName(address, audience)} to the final address`,
  raise_request_seconds: {
    program: (_, { failure: { operation } }) =>
      `Raise ${operation === "message" ? "" : "timeouts."}requestSeconds if the service is slow`,
    command_line: "Raise --request-seconds if the service is slow",
    doctor: "",
  },
  raise_ready_seconds: { program: "Raise timeouts.readySeconds", command_line: "Raise --ready-seconds" },
  run_again: { program: "Run pulumi up again", command_line: "Run it again" },
  read_bot_url: {
    program: "botUrl may be outdated: read it again with getWebhook",
    command_line: "--bot-url may be outdated: apichat webhook get shows it",
  },
  message_not_sent: "The message was not sent",
  message_may_be_taken:
    "The message was sent, and the service may have accepted it: if you send it again, it may appear in the conversation twice",
  allow_replace: {
    program: 'If the address and API key are right, set onExisting: "replace" to proceed anyway',
    command_line: "If the address and API key are right, use --replace to proceed anyway",
  },
  remove_other: {
    program: (hint) => `If you may remove it, run: ${removalCommand(hint)}; then run pulumi up again`,
    command_line: (hint) => `If you may remove it, run: ${removalCommand(hint)}; then run this again`,
  },
  refresh_first: "Run pulumi refresh to see the change, and pulumi up to fix it",
  other_workspace:
    "If the API key or base URL is wrong, set the right one; to move to another workspace, use a new resource name or " +
    `pulumi up --replace <urn>; ${FORGET}`,
  set_api_key_or_forget: `Set the right API key; ${FORGET}`,
  separate_workspaces: "Give one of them its own base URL or API key",
  name_workspace: "Give the base URL and API key of the bot's own workspace, or leave out the bot URL",
  delete_again: {
    program: "Run pulumi refresh and try again",
    command_line: "See what apichat webhook get shows, and try again",
  },
  fix_endpoint: (_, { failure: { transcript } }) => capitalize(transcript?.hint ?? ""),
  free_port: ({ port }) =>
    `Stop the program that uses the port ("ss -ltnp 'sport = :${port}'" shows it), or set another port`,
  set_high_port: "Set a port above 1023, and put a reverse proxy in front of it",
  set_local_host: "Set the host to 127.0.0.1, or to 0.0.0.0 for every address",
  own_data_dir: "Stop the other one first, or set another dataDir",
  restart_responder: "Stop it, and start it again",
  end_process: ({ pid }) =>
    `End it with kill -9 ${pid}, which loses nothing that was acknowledged, and try again`,
  warn_only: {
    program: ({ unless }) => `${REACHES[unless]}, set preflight: "warn"`,
    command_line: ({ unless }) => `${REACHES[unless]}, use --preflight warn`,
  },
};

/** Only this machine may be unable to reach the endpoint. */
const REACHES = {
  private_address: "If the service can reach this address",
  unreachable: "If only the service can reach it",
};

/** Field names for audiences that do not use the program's names. */
const FIELDS: Partial<Record<Audience, Readonly<Record<string, string>>>> = {
  command_line: {
    baseUrl: "--base-url",
    botUrl: "--bot-url",
    webhookUrl: "--webhook-url",
    webhookVerificationKey: "the verification key",
    flowApiKeyAs: "--flow-api-key-as",
  },
  list: { baseUrl: "its baseUrl in the list" },
  fleet: {
    stacksAtOnce: "--stacks-at-once",
    callsPerOrigin: "--calls-per-origin",
    stopAfterFailures: "--stop-after-failures",
    maxRemovals: "--max-removals",
    onlyFailed: "--only-failed",
    rotation: "--rotation",
    shard: "--shard",
    waveSize: "--wave-size",
  },
};

/**
 * The text of a failure: what is wrong, then what to do next, each a sentence; then the details, a line each. Without a
 * summary each problem is a line. Text from the service or an endpoint cannot break a line.
 */
export function renderFailure(failure: Failure, audience: Audience = "program"): string {
  const { subject, summary, problems = [], hints, details = [] } = failure;
  const wrong = problems
    .map((problem) => toPlainText(renderProblem(problem, audience)))
    .join(summary === "" ? "\n" : "; ");
  const given = [subject, summary].filter((part) => part !== undefined && part !== "");
  const what = [...given.map((part) => toPlainText(part ?? "")), wrong]
    .filter((part) => part !== "")
    .join(": ");
  const next = hints.map((hint) => toPlainText(renderHint(hint, { audience, failure })));
  return [joinSentences([what, ...next]), ...details.map((line) => `  ${toPlainText(line)}`)].join("\n");
}

/** One problem, preceded by its field. */
export const renderProblem = ({ field, text }: FieldProblem, audience: Audience = "program"): string =>
  field === "" ? text : `${fieldName(field, audience)}: ${text}`;

/** How an audience names a field of a program. */
export const fieldName = (field: string, audience: Audience): string =>
  findFor(audience, (one) => FIELDS[one]?.[field]) ?? field;

function renderHint(hint: Hint, context: { audience: Audience; failure: Failure }): string {
  // The row of an id accepts the hint of that id, which the type of a union of rows cannot express.
  const row = HINTS[hint.id] as Words<Hint> | Row<Hint>;
  const isOneForAll = typeof row === "string" || typeof row === "function";
  const words = isOneForAll ? row : findFor(context.audience, (one) => row[one]);
  return typeof words === "function" ? words(hint, context) : (words ?? "");
}

/** Returns what is defined for an audience, or for the next wider audience. */
function findFor<T>(audience: Audience, find: (audience: Audience) => T | undefined): T | undefined {
  const next = NEXT_AUDIENCE[audience];
  return find(audience) ?? (next && findFor(next, find));
}

/** Characters that could control a terminal, end a line or change the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

const escape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/**
 * Escapes characters that could control a terminal or end a line, as in `\u001b`. Every untrusted text is passed through
 * this before it is printed.
 */
export const toPlainText = (text: string): string => text.replace(UNPRINTABLE, escape);

const joinSentences = (sentences: readonly string[]): string =>
  sentences
    .filter((sentence) => sentence !== "")
    .reduce((text, sentence) => `${text}${/[.?!]$/.test(text) ? "" : "."} ${sentence}`);

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * The command to paste to remove someone else's webhook. It removes this URL only, so a webhook registered in the
 * meantime stays. It accepts URLs whose query values are hidden.
 */
export const removalCommand = ({ baseUrl, webhookUrl }: { baseUrl: string; webhookUrl: string }): string =>
  `npx apichat webhook delete --base-url ${shellQuote(baseUrl)} --webhook-url ${shellQuote(webhookUrl)}`;

const shellQuote = (url: string): string => `'${url.replaceAll("'", "%27")}'`;
