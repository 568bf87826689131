import { Refusal } from "./refusal.js";
import type { WorkspaceState } from "./workspace-state.js";

const SECOND_MS = 1000;

/** Counts a call or message of a workspace, or refuses it: there were as many within the last second as are allowed. */
export function countWithinRate(workspace: WorkspaceState, requestsPerSecond: number | undefined): void {
  if (requestsPerSecond === undefined) return;
  const now = performance.now();
  const recent = workspace.requestTimes.filter((time) => now - time < SECOND_MS);
  workspace.requestTimes = recent;
  const [oldest = now] = recent;
  if (recent.length >= requestsPerSecond) {
    const seconds = Math.ceil((oldest + SECOND_MS - now) / SECOND_MS);
    throw new Refusal(429, `more than ${requestsPerSecond} requests of this workspace in a second`, {
      headers: { "retry-after": String(Math.max(1, seconds)) },
    });
  }
  recent.push(now);
}
