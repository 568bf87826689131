import { say } from "../resource/progress.js";
import type { ProcessState } from "./inputs.js";
import { thisMachine } from "./machine.js";
import { findRunning } from "./running.js";

/**
 * Looks whether our process answers. Ended, or another one in its place: undefined, and the next `up` starts it again. On
 * another machine nothing can be seen, so the state stays as it is, with a warning.
 */
export async function readProcess(state: ProcessState): Promise<ProcessState | undefined> {
  if (state.machine !== thisMachine()) {
    say(
      state.name,
      "warning: the responder was started on another machine, so whether it runs cannot be seen from here; the state stays as it is",
    );
    return state;
  }
  const running = await findRunning(state.dataDir);
  if (running?.status.instance !== state.instance) return undefined;
  const { host, port, pid } = running.status;
  return { ...state, host, port, pid };
}
