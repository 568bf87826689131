import { say } from "../resource/progress.js";
import { readInstance } from "../server/control-client.js";
import type { ProcessState } from "./inputs.js";
import { leaveDataDir } from "./leave.js";
import { thisMachine } from "./machine.js";
import { otherNameOf, rememberPort } from "./managed.js";
import { findRunning } from "./running.js";
import { stopProcess } from "./stop.js";

/**
 * Ends our process and removes its files. Ended already is done. A process that is not ours is left alone, one on another
 * machine too, each with a warning. Deliveries that were not forwarded stay on disk.
 */
export async function deleteProcess(state: ProcessState): Promise<void> {
  const reason = whyToLeaveAlone(state) ?? (await endOurs(state));
  if (reason === undefined) await leaveDataDir(state);
  else say(state.name, reason);
}

function whyToLeaveAlone({ name, dataDir, machine, pid }: ProcessState): string | undefined {
  if (machine !== thisMachine()) {
    return `warning: the responder was started on another machine and is not ended from here; there, end the process ${pid} and remove ${dataDir}`;
  }
  const other = otherNameOf(dataDir, name);
  return other && `the responder stays: it is still managed by this program, as "${other}"`;
}

/** Ends our process if it runs. Gives a warning if another one has the folder. */
async function endOurs({ dataDir, instance }: ProcessState): Promise<string | undefined> {
  const announced = await readInstance(dataDir);
  if (announced?.instance !== instance) {
    const other = await findRunning(dataDir);
    return (
      other && `warning: another responder runs on ${dataDir} now (pid ${other.status.pid}); it is left alone`
    );
  }
  rememberPort(dataDir, announced.port);
  await stopProcess(dataDir, announced);
  return undefined;
}
