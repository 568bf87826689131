import { startEmulator, type Emulator } from "../../emulator/index.js";
import { toJsonLine } from "../plain-text.js";
import { createEventFormatter } from "./event-lines.js";
import { generateKeys } from "./keys.js";
import { DEFAULT_WORKSPACE, toEmulatorOptions, type EmulatorCliOptions } from "./settings.js";
import { describeStart, formatStart } from "./start-lines.js";

/** Starts the emulator, prints where everything is, and then a line for each event. */
export async function startFromOptions(options: EmulatorCliOptions): Promise<Emulator> {
  const { host, workspace: names = [], json = false, quiet = false } = options;
  const settings = await toEmulatorOptions(options);
  const emulator = await startEmulator(settings);
  const shown = new Set([...names, ...listDerived(emulator, host)]);
  if (emulator.workspaces.size === 0) {
    emulator.addWorkspace({ name: DEFAULT_WORKSPACE, ...generateKeys(DEFAULT_WORKSPACE, host) });
    shown.add(DEFAULT_WORKSPACE);
  }
  const { stdout } = process;
  const hasToken = settings.token !== undefined;
  stdout.write(json ? toJsonLine(describeStart(emulator, shown)) : formatStart(emulator, shown, hasToken));
  if (!quiet) {
    const format = createEventFormatter(stdout);
    emulator.subscribe((event) => {
      const line = json ? toJsonLine(event) : format(event);
      if (line !== undefined) stdout.write(line);
    });
  }
  return emulator;
}

/** Those whose key everybody can know, because it follows from the name: an earlier run has made them. */
const listDerived = (emulator: Emulator, host: string): string[] =>
  [...emulator.workspaces.values()]
    .filter(({ name, apiKey }) => apiKey === generateKeys(name, host).apiKey)
    .map(({ name }) => name);
