import { startEmulator, type Emulator, type EmulatorOptions } from "../../emulator/index.js";
import { describeListenFailure } from "../../server/listener.js";
import { note } from "../output.js";
import { toJsonLine } from "../plain-text.js";
import { createEventFormatter } from "./event-lines.js";
import { generateKeys } from "./keys.js";
import { DEFAULT_WORKSPACE, toEmulatorOptions, type EmulatorCliOptions } from "./settings.js";
import { describeStart, formatStart } from "./start-lines.js";

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
