import { isDeepStrictEqual } from "node:util";
import { say } from "../resource/progress.js";
import { UNKNOWN } from "../resource/unknown.js";
import { choosePort, portOfId } from "./addresses.js";
import type { ProcessInputs, ProcessState } from "./inputs.js";

export interface DiffResult {
  changes: boolean;
  replaces: string[];
  deleteBeforeReplace: boolean;
}

const COMPARED = ["workspaces", "verificationKeys", "host", "publicUrl", "dataDir"] as const;

/**
 * Says whether update has something to do. Nothing replaces: the process takes every change over. A process that has
 * ended is not looked for here, because a preview asks nothing but the state: refresh does.
 */
export function diffProcess(id: string, state: ProcessState, inputs: ProcessInputs): DiffResult {
  const changed = COMPARED.filter((name) => !isDeepStrictEqual(state[name], inputs[name]));
  if (changed.includes("verificationKeys")) sayChangedKeys(state, inputs);
  const hasMoved = choosePort(inputs.port, portOfId(id)) !== state.port;
  return { changes: changed.length > 0 || hasMoved, replaces: [], deleteBeforeReplace: true };
}

/** A preview shows a changed secret as `[secret]` on both sides. */
function sayChangedKeys(state: ProcessState, { name, verificationKeys }: ProcessInputs): void {
  const changed = Object.entries(verificationKeys).filter(
    ([workspace, keys]) => !isDeepStrictEqual(state.verificationKeys[workspace], keys),
  );
  for (const [workspace, keys] of changed) {
    const isUnknown = (keys as unknown) === UNKNOWN;
    say(name, `verificationKeys of ${workspace} ${isUnknown ? "may change" : "change"}`);
  }
}
