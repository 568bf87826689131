import type { EmulatorState } from "./emulator-state.js";
import { clearFaults } from "./faults.js";
import { removeWorkspace } from "./workspace-admin.js";
import type { WorkspaceState } from "./workspace-state.js";

/**
 * Forgets what has happened: conversations, deliveries, handshakes, requests and faults. Workspaces stay as they are, with
 * their keys and registrations, unless they are to go too. What is still to be delivered never is; resolves when nothing of
 * it is under way any more.
 */
export async function resetState(
  state: EmulatorState,
  { workspaces = false }: { workspaces?: boolean } = {},
): Promise<void> {
  const underWay = [...state.directory.values()].flatMap((workspace) =>
    [...workspace.conversations.values()].map(({ turns }) => turns),
  );
  for (const workspace of state.directory.values()) {
    forget(workspace);
    if (workspaces) removeWorkspace(state, workspace.name);
  }
  state.requests.length = 0;
  clearFaults(state);
  state.changes.publish({ kind: "reset" });
  await Promise.all(underWay.map((turns) => turns.end()));
}

/** In place: the lists are handed out. */
function forget(workspace: WorkspaceState): void {
  workspace.handshakes.length = 0;
  workspace.deliveries.length = 0;
  workspace.conversations.clear();
}
