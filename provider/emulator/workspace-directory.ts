import { invalidOption } from "./check-options.js";
import type { WorkspaceState } from "./workspace-state.js";

/** The workspaces of one emulator, by name. */
export type WorkspaceDirectory = Map<string, WorkspaceState>;

/** Adds a workspace; throws `invalid_config` when its name, bot code or address is taken. */
export function enrol(directory: WorkspaceDirectory, state: WorkspaceState): void {
  if (directory.has(state.name)) throw invalidOption(`there is already a workspace named "${state.name}"`);
  assertBotCodeIsFree(directory, state, state.botCode);
  assertAddressIsFree(directory, state, state.apiKey);
  directory.set(state.name, state);
}

/** Throws if a workspace other than `state` has this bot code: a message would have two bots to go to. */
export function assertBotCodeIsFree(
  directory: WorkspaceDirectory,
  state: WorkspaceState,
  botCode: string,
): void {
  const holder = others(directory, state).find((other) => other.botCode === botCode);
  if (holder) throw invalidOption(`bot code "${botCode}" belongs to workspace "${holder.name}"`);
}

/** Throws if this address and API key already reach a workspace other than `state`. */
export function assertAddressIsFree(
  directory: WorkspaceDirectory,
  state: WorkspaceState,
  apiKey: string,
): void {
  const holder = others(directory, state).find(
    (other) => other.path === state.path && other.query === state.query && other.apiKey === apiKey,
  );
  if (holder) {
    throw invalidOption(
      `the API key of workspace "${state.name}" already reaches workspace "${holder.name}" at ${state.path}; ` +
        "give one of them another path, query or API key",
    );
  }
}

/** The workspaces that stand at an address; the API key tells which of them is meant. */
export function workspacesAt(directory: WorkspaceDirectory, address: URL): WorkspaceState[] {
  return [...directory.values()].filter(
    (state) => state.path === address.pathname && holdsQuery(address.searchParams, state.query),
  );
}

export function workspaceOfBot(directory: WorkspaceDirectory, botCode: string): WorkspaceState | undefined {
  return [...directory.values()].find((state) => state.botCode === botCode);
}

function holdsQuery(sent: URLSearchParams, wanted: string): boolean {
  return [...new URLSearchParams(wanted)].every(([name, value]) => sent.getAll(name).includes(value));
}

function others(directory: WorkspaceDirectory, state: WorkspaceState): WorkspaceState[] {
  return [...directory.values()].filter((other) => other !== state);
}
