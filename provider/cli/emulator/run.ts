import { ApiChatError } from "../../errors/index.js";
import { type Emulator, type EmulatorOptions, startEmulator } from "../../emulator/index.js";
import { describeListenFailure } from "../../server/listener.js";
import { note } from "../output.js";
import { toJsonLine } from "../../lib/plain-text.js";
import { createEventFormatter } from "./event-lines.js";
import { type EmulatorFacts, findEmulator, fits, type WorkspaceFacts } from "./running.js";
import { DEFAULT_WORKSPACE, type EmulatorCliOptions, generateKeys, toEmulatorOptions } from "./settings.js";

/**
 * Starts the emulator, prints where everything is, and then a line for each event. Returns undefined if an emulator that is
 * already running does the same: it prints where that one is.
 */
export async function startFromOptions(options: EmulatorCliOptions): Promise<Emulator | undefined> {
  const { host, workspace: names = [], json = false, quiet = false } = options;
  const settings = await toEmulatorOptions(options);
  const emulator = await startListening(settings, options);
  if (emulator === undefined) return undefined;
  for (const name of listKept(emulator, settings)) {
    note(`${name}: as kept in ${settings.data}; its options are not applied`);
  }
  const shown = new Set([...names, ...listDerived(toFacts(emulator), host)]);
  if (emulator.workspaces.size === 0) {
    emulator.addWorkspace({ name: DEFAULT_WORKSPACE, ...generateKeys(DEFAULT_WORKSPACE, host) });
    shown.add(DEFAULT_WORKSPACE);
  }
  const { stdout } = process;
  const hasToken = settings.token !== undefined;
  const facts = toFacts(emulator);
  stdout.write(
    json ? toJsonLine(describe("started", facts, shown)) : formatStart(facts, { shown, hasToken, host }),
  );
  if (!quiet) {
    const format = createEventFormatter(stdout);
    emulator.subscribe((event) => {
      const line = json ? toJsonLine(event) : format(event);
      if (line !== undefined) stdout.write(line);
    });
  }
  return emulator;
}

/**
 * A port that is not available is reported as by the other commands: no option is wrong. Returns undefined if the emulator
 * that has the port can be used.
 */
async function startListening(
  settings: EmulatorOptions,
  options: EmulatorCliOptions,
): Promise<Emulator | undefined> {
  const { host } = options;
  try {
    return await startEmulator(settings);
  } catch (error) {
    const { cause } = error as { cause?: NodeJS.ErrnoException & { port?: number } };
    if (!(cause instanceof Error) || !LISTEN_CALLS.has(cause.syscall ?? "")) throw error;
    if (cause.code === "EADDRINUSE" && (await useRunning(options))) return undefined;
    throw describeListenFailure(cause, { host, port: cause.port ?? options.port });
  }
}

/** Prints where a running emulator is. Returns false if another program has the port. Throws if it runs with other options. */
async function useRunning(options: EmulatorCliOptions): Promise<boolean> {
  const { host, port, json = false } = options;
  const running = await findEmulator(options);
  if (running === undefined) return false;
  if (!fits(running, options)) {
    const summary = `cannot listen on ${host} port ${port}: an emulator with other options is already running there`;
    throw new ApiChatError("unavailable", summary, {
      operation: "check",
      hints: [{ id: "free_port", port }],
    });
  }
  const shown = new Set(listDerived(running, host));
  process.stdout.write(
    json
      ? toJsonLine(describe("running", running, shown))
      : `An emulator is already running, and this one is not needed:\n${formatPlaces(running, shown)}\n`,
  );
  return true;
}

const LISTEN_CALLS = new Set(["listen", "getaddrinfo"]);

/** The options that a running workspace shows as they were given. */
const COMPARED = ["apiKey", "flowApiKey", "botCode", "mayManageFlow", "flow"] as const;

/** Workspaces whose stored settings differ from the options. */
const listKept = (emulator: Emulator, { workspaces = [] }: EmulatorOptions): string[] =>
  workspaces.flatMap((wanted) => {
    const { name } = wanted;
    const kept = emulator.workspace(name);
    return COMPARED.some((field) => wanted[field] !== undefined && wanted[field] !== kept[field])
      ? [name]
      : [];
  });

/** Those whose key everybody can know, because it follows from the name: an earlier run has made them. */
const listDerived = ({ workspaces }: EmulatorFacts, host: string): string[] =>
  workspaces.filter(({ name, apiKey }) => apiKey === generateKeys(name, host).apiKey).map(({ name }) => name);

/** The names of workspaces with generated keys, which are printed once at the start. */
type ShownKeys = ReadonlySet<string>;

interface StartFacts {
  shown: ShownKeys;
  hasToken: boolean;
  /** The address that was asked for. */
  host: string;
}

const toFacts = ({ url, botUrl, workspaces }: Emulator): EmulatorFacts => ({
  url,
  botUrl,
  workspaces: [...workspaces.values()],
});

/** The first lines: where everything is. */
const formatStart = (emulator: EmulatorFacts, { shown, hasToken, host }: StartFacts): string =>
  [
    formatPlaces(emulator, shown, {
      query: hasToken ? "?token=<the token>" : "",
      reach: WILDCARDS.has(host) ? [formatReach(emulator)] : [],
    }),
    "press Ctrl-C to stop",
    "",
  ].join("\n");

const formatPlaces = (
  { url, botUrl, workspaces }: EmulatorFacts,
  shown: ShownKeys,
  { query = "", reach = [] as readonly string[] } = {},
): string =>
  [
    `page          ${url}/_emulator/${query}`,
    ...reach,
    `registration  ${url}`,
    `bot host      ${botUrl}`,
    ...workspaces.map((workspace) => formatWorkspace(workspace, shown)),
  ].join("\n");

/** The spellings of every address of a machine. */
const WILDCARDS = new Set(["0.0.0.0", "::"]);

const formatReach = ({ url, botUrl }: EmulatorFacts): string =>
  `              at every address of this machine: port ${new URL(url).port}, bot host port ${new URL(botUrl).port}`;

function formatWorkspace(
  { name, baseUrl, botUrl, apiKey, flowApiKey }: WorkspaceFacts,
  shown: ShownKeys,
): string {
  const rows = [
    `workspace ${name}`,
    `  base URL      ${baseUrl}`,
    `  bot URL       ${botUrl}`,
    ...(shown.has(name) ? [`  API key       ${apiKey}`, `  flow API key  ${flowApiKey}`] : []),
  ];
  return rows.join("\n");
}

/** The same for scripts: the first line of `--json`. */
const describe = (type: "started" | "running", emulator: EmulatorFacts, shown: ShownKeys): object => ({
  type,
  at: new Date().toISOString(),
  page: `${emulator.url}/_emulator/`,
  url: emulator.url,
  botUrl: emulator.botUrl,
  workspaces: emulator.workspaces.map(({ name, baseUrl, botUrl, apiKey, flowApiKey }) => ({
    name,
    baseUrl,
    botUrl,
    ...(shown.has(name) ? { apiKey, flowApiKey } : {}),
  })),
});
