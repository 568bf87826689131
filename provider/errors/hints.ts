import { commandLine } from "./command.js";

/**
 * Who a message is for. `program`: authors of a Pulumi program and callers of a client. `command_line`: users of
 * `apichat`. `list`: users of `apichat` with a list of workspaces. `fleet`: users of a fleet.
 */
export type Audience = "program" | "command_line" | "list" | "fleet";

const NEXT_AUDIENCE: Partial<Record<Audience, Audience>> = {
  command_line: "program",
  list: "command_line",
  fleet: "program",
};

const ISSUED =
  "The API key is issued by the platform's support when the add-on is enabled: one key per external system.";

const NOT_TRIED =
  "The preflight was off, so the reason is unknown: the endpoint may have a different verification key.";

const FORGET = "if the webhook is gone for good, run pulumi state delete <urn>";

/** What each hint contains in addition to its `id`. */
interface HintData extends Record<
  "check_address" | "check_connection" | "start_emulator" | "set_final_address",
  {
    /** The option with the address that was called. */
    address: "baseUrl" | "botUrl";
  }
> {
  remove_other: {
    /** The workspace's address; query values are hidden. */
    baseUrl: string;
    /** The URL that is registered there; query values are hidden. */
    webhookUrl: string;
  };
  free_port: {
    /** The port that is in use. */
    port: number;
  };
  end_process: {
    /** The ID of the process that has locked a data folder; undefined if the process has not recorded it there. */
    pid: number | undefined;
  };
  warn_only: {
    /** The condition under which a warning is enough. */
    unless: keyof typeof REACHES;
  };
}

/** Advice on what to do next. `hints.ts` words it for every audience. */
export type Hint = {
  [Id in keyof typeof HINTS]: {
    /** Identifies the advice. Programs should check this, not the text. */
    id: Id;
  } & (Id extends keyof HintData ? HintData[Id] : unknown);
}[keyof typeof HINTS];

/** What the text of a hint depends on, in addition to its data. */
interface Context {
  audience: Audience;
  /** What was in progress. */
  operation: string;
  /** How to fix the endpoint. */
  fix: string;
}

type Words = string | ((context: never) => string);

/** The text of a hint. An audience without an entry gets the entry of its {@link NEXT_AUDIENCE}. */
type Row = { program: Words } & Partial<Record<Audience, Words>>;

const HINTS = {
  give_api_key: {
    program: `${ISSUED} Set apiKey or APICHAT_API_KEY, or run: pulumi config set --secret apichat:apiKey`,
    command_line: `${ISSUED} Pass it with --api-key-file, or set APICHAT_API_KEY`,
    list: `${ISSUED} Set apiKey or apiKeyEnv in the list, pass --api-key-file, or set APICHAT_API_KEY`,
    fleet: `${ISSUED} Set APICHAT_API_KEY, or apiKey or apiKeyEnv in the list`,
  },
  check_api_key: "Is the API key right?",
  rotated_api_key:
    "Refresh and destroy use the API key of the last pulumi up, even if that up failed: " +
    "if the key has changed since, set APICHAT_API_KEY for this command, or run pulumi up first",
  check_flow_api_key: ({ audience }: Context) =>
    'Messages use the API key of the flow; it needs the permission "Gerenciar Fluxo" (manage flow). ' +
    'The specification does not say how to send it. The default is "Authorization: Bearer"; ' +
    `${fieldName("flowApiKeyAs", audience)} selects another way`,
  check_base_url: ({ audience }: Context) =>
    `Is this the address of the registration interface? Check ${fieldName("baseUrl", audience)}`,
  configure_base_url:
    "The ID must be the base URL or the bot URL; for a bot URL, " +
    "set apichat:baseUrl and apichat:apiKey to those of its workspace",
  forget_workspace: {
    program: "If the workspace no longer exists, run pulumi state delete <urn>",
    command_line: "",
  },
  check_address: ({ address, audience }: Context & HintData["check_address"]) =>
    `Check the protocol, host name and port of ${fieldName(address, audience)}`,
  check_connection: ({ address, audience }: Context & HintData["check_connection"]) =>
    `Check ${fieldName(address, audience)}, or try again when the service is up`,
  check_proxy: "Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY, and what the proxy allows",
  start_emulator: ({ address, audience }: Context & HintData["check_connection"]) =>
    `To use the emulator, run ${commandLine()} emulator; otherwise, check ${fieldName(address, audience)}`,
  set_final_address: ({ address, audience }: Context & HintData["check_connection"]) =>
    `Set ${fieldName(address, audience)} to the final address`,
  raise_request_seconds: {
    program: ({ operation }: Context) =>
      `Raise ${operation === "message" ? "" : "timeouts."}requestSeconds if the service is slow`,
    command_line: "Raise --request-seconds if the service is slow",
  },
  run_preflight: {
    program: `${NOT_TRIED} Set preflight: "require" to find out`,
    command_line: `${NOT_TRIED} Use --preflight require to find out`,
  },
  raise_ready_seconds: { program: "Raise timeouts.readySeconds", command_line: "Raise --ready-seconds" },
  run_again: { program: "Run pulumi up again", command_line: "Run it again" },
  read_bot_url: {
    program: "botUrl may be outdated: read it again with getWebhook",
    command_line: () => `--bot-url may be outdated: ${commandLine()} webhook get shows the current one`,
  },
  message_not_sent: "The message was not sent",
  message_may_be_taken:
    "The message was sent, and the service may have accepted it: if you send it again, " +
    "it may appear in the conversation twice",
  allow_replace: {
    program: 'If the address and API key are right, set onExisting: "replace" to proceed anyway',
    command_line: "If the address and API key are right, use --replace to proceed anyway",
  },
  remove_other: {
    program: (hint: HintData["remove_other"]) =>
      `If you may remove it, run: ${removalCommand(hint)}; then run pulumi up again`,
    command_line: (hint: HintData["remove_other"]) =>
      `To replace it, pass --replace; to remove it first, run: ${removalCommand(hint)}`,
  },
  take_over: { program: 'To take it over instead, set onExisting: "replace"', command_line: "" },
  own_webhook: {
    program:
      "If the webhook belongs to a renamed resource of this stack, give this resource " +
      "its previous name as an alias; if it belongs to a resource that is no longer declared, " +
      "remove that resource first: pulumi destroy --target <urn>",
    command_line: "",
  },
  refresh_first: "Run pulumi refresh to see the change, and pulumi up to fix it",
  refresh_owner: "If a stack owns the webhook that was registered before, run pulumi refresh, then pulumi up",
  other_workspace:
    "If the API key or base URL is wrong, set the right one; to move to another workspace, " +
    "use a new resource name or " +
    `pulumi up --replace <urn>; ${FORGET}`,
  set_api_key_or_forget: `Set the right API key; ${FORGET}`,
  separate_workspaces: "Give one of them its own base URL or API key",
  delete_again: {
    program: "Run pulumi refresh and try again",
    command_line: () => `See what ${commandLine()} webhook get shows, and try again`,
  },
  fix_endpoint: ({ fix }: Context) => fix.charAt(0).toUpperCase() + fix.slice(1),
  free_port: ({ port }: HintData["free_port"]) =>
    `Stop the program that uses the port ("ss -ltnp 'sport = :${port}'" shows it), or set another port`,
  set_high_port: "Set a port above 1023, and put a reverse proxy in front of it",
  set_local_host: "Set the host to 127.0.0.1, or to 0.0.0.0 for every address",
  own_data_dir: "Stop that responder first, or set another dataDir",
  restart_responder: "Stop the responder, and start it again",
  end_process: ({ pid }: HintData["end_process"]) =>
    pid === undefined
      ? "Try again in a moment; if that fails, end the process that has lock.sqlite open there"
      : "Try again in a moment (inside the container, if the process runs in one); if that fails, " +
        `end it with kill -9 ${pid}, which loses nothing that was acknowledged`,
  warn_only: {
    program: ({ unless }: HintData["warn_only"]) => `${REACHES[unless]}, set preflight: "warn"`,
    command_line: ({ unless }: HintData["warn_only"]) => `${REACHES[unless]}, use --preflight warn`,
  },
} satisfies Record<string, Words | Row>;

/** Conditions under which the service may reach the endpoint although this machine does not. */
const REACHES = {
  private_address: "If the service can reach this address",
  unreachable: "If only the service can reach it",
};

/** Returns a hint's text for an audience. */
export function renderHint(hint: Hint, context: Context): string {
  const row: Words | Row = HINTS[hint.id];
  const isOneForAll = typeof row === "string" || typeof row === "function";
  const words = isOneForAll ? row : findFor(context.audience, (one) => row[one]);
  return typeof words === "function" ? words({ ...hint, ...context } as never) : (words ?? "");
}

/**
 * The command to paste to remove someone else's webhook. It removes only a webhook with this URL, so one that
 * was registered in the meantime is kept. The command also accepts a webhook URL whose query values are hidden.
 */
export const removalCommand = ({ baseUrl, webhookUrl }: { baseUrl: string; webhookUrl: string }): string =>
  `${commandLine()} webhook delete --base-url ${shellQuote(baseUrl)} --webhook-url ${shellQuote(webhookUrl)}`;

/** Quotes a text as one word of a POSIX shell. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

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
    rotation: "--rotation",
    shard: "--shard",
    waveSize: "--wave-size",
  },
};

/** Returns the name by which an audience knows a field of a program. */
export const fieldName = (field: string, audience: Audience): string =>
  findFor(audience, (one) => FIELDS[one]?.[field]) ?? field;

/** Returns what is defined for an audience, or for the next wider audience. */
function findFor<T>(audience: Audience, find: (audience: Audience) => T | undefined): T | undefined {
  const next = NEXT_AUDIENCE[audience];
  return find(audience) ?? (next && findFor(next, find));
}
