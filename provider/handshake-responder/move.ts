import { readInstance } from "../server/control-client.js";
import { applyInputs, startAgain, type Applied } from "./apply.js";
import { prepareDataDir } from "./data-dir.js";
import type { ProcessInputs, ProcessState } from "./inputs.js";
import { leaveDataDir } from "./leave.js";
import { otherNameOf } from "./managed.js";
import { findRunning } from "./running.js";
import { stopProcess } from "./stop.js";

/**
 * Ends the process on its former folder and starts it on the new one: it needs the port. If that fails, the former one is
 * started again. What was not forwarded stays in the former folder, with a warning.
 */
export async function moveProcess(
  state: ProcessState,
  inputs: ProcessInputs,
  port: number,
): Promise<Applied> {
  const { dataDir, instance } = state;
  // What can be wrong with the new folder is found before anything ends.
  await prepareDataDir(inputs);
  const announced = await readInstance(dataDir);
  const isOurs = announced?.instance === instance;
  const isFree = isOurs || (await findRunning(dataDir)) === undefined;
  if (isOurs) await stopProcess(dataDir, announced);
  const applied = await applyInputs(inputs, () => port).catch(async (error: unknown) => {
    throw isOurs ? await startAgain(state, state, error) : error;
  });
  if (isFree && otherNameOf(dataDir, inputs.name) === undefined)
    await leaveDataDir({ ...state, name: inputs.name });
  return applied;
}
