import {
  type WorkspaceView,
  type Emulator,
  type EmulatorOptions,
  startEmulator,
} from "../../emulator/index.js";
import { commandLine } from "../../errors/index.js";
import { describeListenFailure } from "../../server/listener.js";
import { print } from "../output.js";
import { toJsonLine } from "../../lib/plain-text.js";
import { toUrlHost } from "../../lib/url.js";
import { createEventFormatter } from "./event-lines.js";
import { DEFAULT_WORKSPACE, type EmulatorCliOptions, generateKeys, toEmulatorOptions } from "./settings.js";

interface EmulatorFacts {
  url: string;
  botUrl: string;
  workspaces: readonly Pick<WorkspaceView, "name" | "baseUrl" | "botUrl" | "apiKey" | "flowApiKey">[];
}

/** Returns undefined if an equivalent emulator is already running, and prints its addresses then. */
export async function startFromOptions(options: EmulatorCliOptions): Promise<Emulator | undefined> {
  const { host, json = false, quiet = false } = options;
  const settings = await toEmulatorOptions(options);
  const emulator = await startListening(settings, options);
  if (emulator === undefined) return undefined;
  const isEmpty = emulator.workspaces.size === 0;
  if (isEmpty) emulator.addWorkspace({ name: DEFAULT_WORKSPACE, ...generateKeys(DEFAULT_WORKSPACE, host) });
  const shown = isEmpty ? { ...options, workspace: [DEFAULT_WORKSPACE] } : options;
  const { url, botUrl } = emulator;
  const places = toPlaces("started", { url, botUrl, workspaces: [...emulator.workspaces.values()] }, shown);
  const next =
    `next: register an endpoint with ${commandLine()} webhook set, or write a program with ${commandLine()} init\n` +
    "Press Ctrl-C to stop\n";
  print(json ? toJsonLine(places) : `${formatPlaces(places, settings.token)}\n${next}`);
  const format = json ? toJsonLine : createEventFormatter();
  if (!quiet) emulator.subscribe((event) => print(format(event) ?? ""));
  return emulator;
}

const SHOWN_WORKSPACES = 5;

/** Returns undefined if an equivalent emulator has the port. An unavailable port is a failure, not a usage error. */
async function startListening(
  settings: EmulatorOptions,
  options: EmulatorCliOptions,
): Promise<Emulator | undefined> {
  const { host, port, json } = options;
  try {
    return await startEmulator(settings);
  } catch (error) {
    const { cause } = error as { cause?: NodeJS.ErrnoException & { port?: number } };
    if (!(cause instanceof Error) || !["listen", "getaddrinfo"].includes(cause.syscall ?? "")) throw error;
    const isPlain = Object.keys(options).every((name) => OPTIONS_OF_OUTPUT.has(name));
    const running = cause.code === "EADDRINUSE" ? await findEmulator(options) : undefined;
    if (running !== undefined && !isPlain)
      throw new Error(
        `the port is taken by an emulator that runs already, at ${running.url}: end it to start one with these ` +
          "options, or choose a different --port and --bot-port",
        { cause: error },
      );
    if (running === undefined) throw describeListenFailure(cause, { host, port: cause.port ?? port });
    const places = toPlaces("running", running, options);
    const found = "An emulator is already running, and this one is not needed:";
    print(json ? toJsonLine(places) : `${found}\n${formatPlaces(places)}\n`);
    return undefined;
  }
}

/** Options that change nothing in the service. */
const OPTIONS_OF_OUTPUT = new Set(["port", "botPort", "host", "quiet", "json"]);

/** An emulator answers its own control API from memory. */
const LIMIT_MS = 2_000;

/** Returns the emulator that listens on this address, if it has the default workspace and requires no token. */
async function findEmulator({ host, port }: EmulatorCliOptions): Promise<EmulatorFacts | undefined> {
  const url = `http://${toUrlHost(host)}:${port}`;
  const path = "/_emulator/workspaces?reveal=true";
  try {
    const response = await fetch(url + path, { signal: AbortSignal.timeout(LIMIT_MS) });
    const workspaces = (await response.json()) as WorkspaceView[];
    const { botUrl } = workspaces.find(({ name }) => name === DEFAULT_WORKSPACE) ?? {};
    return botUrl === undefined ? undefined : { url, botUrl: new URL(botUrl).origin, workspaces };
  } catch {
    // A different program listens on the port.
    return undefined;
  }
}

/** Whether to print the keys of a workspace: only those that were generated in this run or follow from the name. */
const mayShowKeys = (
  { name, apiKey }: EmulatorFacts["workspaces"][number],
  { host, workspace: names = [] }: EmulatorCliOptions,
): boolean => names.includes(name) || apiKey === generateKeys(name, host).apiKey;

type Places = ReturnType<typeof toPlaces>;

/** Where everything is: the first line of `--json`. */
const toPlaces = (
  type: "started" | "running",
  { url, botUrl, workspaces }: EmulatorFacts,
  options: EmulatorCliOptions,
) => ({
  type,
  at: new Date().toISOString(),
  page: `${url}/_emulator/`,
  url,
  botUrl,
  workspaces: workspaces.map((workspace) => {
    const { name, baseUrl, apiKey, flowApiKey } = workspace;
    const keys = mayShowKeys(workspace, options) ? { apiKey, flowApiKey } : {};
    return { name, baseUrl, botUrl: workspace.botUrl, ...keys };
  }),
});

const formatPlaces = ({ page, url, botUrl, workspaces }: Places, token?: string): string =>
  [
    `page          ${page}${token === undefined ? "" : "?token=<the token>"}`,
    `registration  ${url}`,
    `bot host      ${botUrl}`,
    ...workspaces
      .slice(0, SHOWN_WORKSPACES)
      .flatMap((workspace) => [
        `workspace ${workspace.name}`,
        `  base URL      ${workspace.baseUrl}`,
        `  bot URL       ${workspace.botUrl}`,
        ...("apiKey" in workspace
          ? [`  API key       ${workspace.apiKey}`, `  flow API key  ${workspace.flowApiKey}`]
          : []),
      ]),
    ...(workspaces.length > SHOWN_WORKSPACES
      ? [`and ${workspaces.length - SHOWN_WORKSPACES} more workspaces, which the page shows`]
      : []),
  ].join("\n");
