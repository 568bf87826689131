import { say } from "../resource/progress.js";
import { UNKNOWN } from "../resource/unknown.js";
import { keepOf, type VerificationKeyInputs, type VerificationKeyState } from "./inputs.js";
import { countDropped, decideNextKey } from "./next-keys.js";

interface KeyDiff {
  changes: boolean;
  replaces: string[];
  deleteBeforeReplace: boolean;
}

/**
 * Says whether the list of keys changes. Any other change of the inputs is none: an update makes every output unknown in the
 * preview, and whatever takes a key would show a change that does not come. Nothing ever replaces.
 */
export function diffKey(state: VerificationKeyState, inputs: VerificationKeyInputs): KeyDiff {
  const lines = describeChange(state, inputs);
  if (!Object.values(inputs).includes(UNKNOWN)) lines.forEach((line) => say(inputs.name, line));
  return { changes: lines.length > 0, replaces: [], deleteBeforeReplace: false };
}

/** The service signs with the replaced key until set-webhook has handed it the new one. */
const KEEPS_NONE =
  "warning: keep is 0, so deliveries are refused until set-webhook has run; leave keep out while a key is rotated";

/** A preview shows a secret that changes as [secret] on both sides, or not at all. */
function describeChange(state: VerificationKeyState, inputs: VerificationKeyInputs): string[] {
  const { from } = decideNextKey(state, inputs);
  const dropped = countDropped(state, inputs);
  return [
    ...(from === "random" ? ["a new key becomes the current one"] : []),
    ...(from === "initial" ? ["the key in initial becomes the current one"] : []),
    ...(dropped > 0 ? [describeDropped(dropped)] : []),
    ...(from !== "state" && keepOf(inputs) === 0 ? [KEEPS_NONE] : []),
  ];
}

const describeDropped = (count: number): string =>
  count === 1
    ? "1 of the earlier keys is dropped: what is signed with it is refused"
    : `${count} of the earlier keys are dropped: what is signed with them is refused`;
