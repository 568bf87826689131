import { type Emulator, type EmulatorOptions, startEmulator } from "../../emulator/index.js";
import { commandLine } from "../../errors/index.js";
import { describeListenFailure } from "../../server/listener.js";
import { print } from "../output.js";
import { toJsonLine } from "../../lib/plain-text.js";
import { formatEvent } from "./event-lines.js";
import { type EmulatorCliOptions, toEmulatorOptions } from "./settings.js";

/** Starts the emulator, prints its addresses, and then prints a line for each event. */
export async function startFromOptions(options: EmulatorCliOptions): Promise<Emulator> {
  const { json = false, quiet = false } = options;
  const { settings, generated } = await toEmulatorOptions(options);
  const emulator = await startListening(settings, options);
  const places = toPlaces(emulator, generated);
  const next =
    `next: register an endpoint with ${commandLine()} webhook set, or write a program with ${commandLine()} init\n` +
    "Press Ctrl-C to stop\n";
  print(json ? toJsonLine(places) : `${formatPlaces(places, settings.token)}\n${next}`);
  const format = json ? toJsonLine : formatEvent;
  if (!quiet) emulator.subscribe((event) => print(format(event) ?? ""));
  return emulator;
}

/** An unavailable port is a failure, not a usage error. */
async function startListening(
  settings: EmulatorOptions,
  { host, port }: EmulatorCliOptions,
): Promise<Emulator> {
  try {
    return await startEmulator(settings);
  } catch (error) {
    const { cause } = error as { cause?: NodeJS.ErrnoException & { port?: number } };
    if (!(cause instanceof Error) || !["listen", "getaddrinfo"].includes(cause.syscall ?? "")) throw error;
    throw describeListenFailure(cause, { host, port: cause.port ?? port });
  }
}

type Places = ReturnType<typeof toPlaces>;

/** How many workspaces are printed at the start. */
const SHOWN_WORKSPACES = 5;

/** The first line of output: the emulator's addresses. The only keys in it are generated ones. */
const toPlaces = ({ url, botUrl, workspaces }: Emulator, generated: readonly string[]) => ({
  type: "started",
  at: new Date().toISOString(),
  page: `${url}/_emulator/`,
  url,
  botUrl,
  workspaces: [...workspaces.values()].map((workspace) => {
    const { name, baseUrl, apiKey, flowApiKey } = workspace;
    const keys = generated.includes(name) ? { apiKey, flowApiKey } : {};
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
