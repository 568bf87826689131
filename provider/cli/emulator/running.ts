import type { HealthView, WorkspaceView } from "../../emulator/control/shapes.js";
import type { Address } from "../../server/listener.js";
import { DEFAULT_WORKSPACE, type EmulatorCliOptions } from "./settings.js";

/** An emulator answers its own control API from memory. */
const ANSWER_MS = 2_000;

/** What the first lines of output show of an emulator. */
export interface EmulatorFacts {
  /** Origin of the registration interface. */
  url: string;
  /** Origin of the bot host. */
  botUrl: string;
  workspaces: readonly WorkspaceFacts[];
}

export type WorkspaceFacts = Pick<WorkspaceView, "name" | "baseUrl" | "botUrl" | "apiKey" | "flowApiKey">;

/** Returns the emulator that listens on this address; undefined if another program does, or if it requires a token. */
export async function findEmulator({ host, port }: Address): Promise<EmulatorFacts | undefined> {
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const health = await read<HealthView>(`${url}/_emulator/health`);
  if (health?.status !== "ok") return undefined;
  const workspaces = await read<WorkspaceView[]>(`${url}/_emulator/workspaces?reveal=true`);
  const [first] = workspaces ?? [];
  return workspaces && { url, botUrl: first ? new URL(first.botUrl).origin : "", workspaces };
}

/** Options that change nothing in the service. */
const OF_OUTPUT_AND_PLACE = new Set(["port", "botPort", "host", "quiet", "json"]);

/** Whether it does what a new emulator with these options would do. */
export const fits = ({ workspaces }: EmulatorFacts, options: EmulatorCliOptions): boolean =>
  Object.keys(options).every((name) => OF_OUTPUT_AND_PLACE.has(name)) &&
  workspaces.some(({ name }) => name === DEFAULT_WORKSPACE);

/** The JSON at this address. Whatever else listens there answers otherwise or not at all. */
async function read<T>(url: string): Promise<T | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
    return answer.ok ? ((await answer.json()) as T) : undefined;
  } catch {
    return undefined;
  }
}
