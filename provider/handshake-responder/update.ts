import { say } from "../resource/progress.js";
import { choosePort, portOfId } from "./addresses.js";
import { applyInputs, toState } from "./apply.js";
import type { ProcessInputs, ProcessState } from "./inputs.js";
import { thisMachine } from "./machine.js";
import { moveProcess } from "./move.js";

/**
 * Has the process take over what the program says: another host or port with a restart, all else without one and without a
 * refused request. One that has ended is started again on the same port. A changed folder is a move: see move.ts.
 */
export async function updateProcess(
  id: string,
  state: ProcessState,
  inputs: ProcessInputs,
): Promise<{ outs: ProcessState }> {
  const { name } = inputs;
  const port = choosePort(inputs.port, portOfId(id));
  const isElsewhere = state.machine !== thisMachine();
  const hasMoved = !isElsewhere && state.dataDir !== inputs.dataDir;
  const { status, wasRunning } = hasMoved
    ? await moveProcess(state, inputs, port)
    : await applyInputs(inputs, () => port, state);
  if (isElsewhere) say(name, `warning: ${describeLeft(state)}`);
  else if (!wasRunning && !hasMoved) say(name, `the responder had ended; started again, pid ${status.pid}`);
  return { outs: toState(inputs, status) };
}

const describeLeft = ({ pid, dataDir }: ProcessState): string =>
  `the responder was started on another machine, and now on this one; the one there runs on until it is ended there (pid ${pid}, ${dataDir})`;
