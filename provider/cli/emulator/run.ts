import { type Emulator, type EmulatorOptions, startEmulator, type Workspace } from "../../emulator/index.js";
import { describeListenFailure } from "../../server/listener.js";
import { note } from "../output.js";
import { toJsonLine } from "../plain-text.js";
import { createEventFormatter } from "./event-lines.js";
import { DEFAULT_WORKSPACE, type EmulatorCliOptions, generateKeys, toEmulatorOptions } from "./settings.js";

/** Starts the emulator, prints where everything is, and then a line for each event. */
export async function startFromOptions(options: EmulatorCliOptions): Promise<Emulator> {
  const { host, workspace: names = [], json = false, quiet = false } = options;
  const settings = await toEmulatorOptions(options);
  const emulator = await startListening(settings, host);
  for (const name of listKept(emulator, settings)) {
    note(`${name}: as kept in ${settings.data}; its options are not applied`);
  }
  const shown = new Set([...names, ...listDerived(emulator, host)]);
  if (emulator.workspaces.size === 0) {
    emulator.addWorkspace({ name: DEFAULT_WORKSPACE, ...generateKeys(DEFAULT_WORKSPACE, host) });
    shown.add(DEFAULT_WORKSPACE);
  }
  const { stdout } = process;
  const hasToken = settings.token !== undefined;
  stdout.write(
    json ? toJsonLine(describeStart(emulator, shown)) : formatStart(emulator, { shown, hasToken, host }),
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

/** A port that cannot be had is reported as by the other commands: no option is wrong. */
async function startListening(settings: EmulatorOptions, host: string): Promise<Emulator> {
  try {
    return await startEmulator(settings);
  } catch (error) {
    const { cause } = error as { cause?: NodeJS.ErrnoException & { port?: number } };
    if (!(cause instanceof Error) || !LISTEN_CALLS.has(cause.syscall ?? "")) throw error;
    throw describeListenFailure(cause, { host, port: cause.port ?? settings.port ?? 0 });
  }
}

const LISTEN_CALLS = new Set(["listen", "getaddrinfo"]);

/** The options that a running workspace shows as they were given. */
const COMPARED = ["apiKey", "flowApiKey", "botCode", "mayManageFlow", "flow"] as const;

/** Workspaces that the data holds otherwise than they are wanted. */
const listKept = (emulator: Emulator, { workspaces = [] }: EmulatorOptions): string[] =>
  workspaces.flatMap((wanted) => {
    const { name } = wanted;
    const kept = emulator.workspace(name);
    return COMPARED.some((field) => wanted[field] !== undefined && wanted[field] !== kept[field])
      ? [name]
      : [];
  });

/** Those whose key everybody can know, because it follows from the name: an earlier run has made them. */
const listDerived = (emulator: Emulator, host: string): string[] =>
  [...emulator.workspaces.values()]
    .filter(({ name, apiKey }) => apiKey === generateKeys(name, host).apiKey)
    .map(({ name }) => name);

/** A workspace that was started with keys that were made here, and are shown once. */
type ShownKeys = ReadonlySet<string>;

interface StartFacts {
  shown: ShownKeys;
  hasToken: boolean;
  /** The address that was asked for. */
  host: string;
}

/** The first lines: where everything is. */
function formatStart(emulator: Emulator, { shown, hasToken, host }: StartFacts): string {
  const workspaces = [...emulator.workspaces.values()].map((workspace) => formatWorkspace(workspace, shown));
  return [
    `page          ${emulator.url}/_emulator/${hasToken ? "?token=<the token>" : ""}`,
    ...(WILDCARDS.has(host) ? [formatReach(emulator)] : []),
    `registration  ${emulator.url}`,
    `bot host      ${emulator.botUrl}`,
    ...workspaces,
    "Ctrl-C ends it",
    "",
  ].join("\n");
}

/** The spellings of every address of a machine. */
const WILDCARDS = new Set(["0.0.0.0", "::"]);

const formatReach = ({ url, botUrl }: Emulator): string =>
  `              at every address of this machine: port ${new URL(url).port}, bot host port ${new URL(botUrl).port}`;

function formatWorkspace({ name, baseUrl, botUrl, apiKey, flowApiKey }: Workspace, shown: ShownKeys): string {
  const rows = [
    `workspace ${name}`,
    `  base URL      ${baseUrl}`,
    `  bot URL       ${botUrl}`,
    ...(shown.has(name) ? [`  API key       ${apiKey}`, `  flow API key  ${flowApiKey}`] : []),
  ];
  return rows.join("\n");
}

/** The same for scripts: the first line of `--json`. */
function describeStart(emulator: Emulator, shown: ShownKeys): object {
  return {
    type: "started",
    at: new Date().toISOString(),
    page: `${emulator.url}/_emulator/`,
    url: emulator.url,
    botUrl: emulator.botUrl,
    workspaces: [...emulator.workspaces.values()].map(({ name, baseUrl, botUrl, apiKey, flowApiKey }) => ({
      name,
      baseUrl,
      botUrl,
      ...(shown.has(name) ? { apiKey, flowApiKey } : {}),
    })),
  };
}
