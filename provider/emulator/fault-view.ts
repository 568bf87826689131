import type { FaultView } from "./control/shapes.js";
import type { FaultList } from "./faults.js";

/** A rule as the control API shows it. */
export function viewFault(rule: FaultList[number]): FaultView {
  const { seen: _seen, random: _random, left, times, ...shown } = rule;
  // Infinity is no JSON: without end is null in `left`, and leaves out `times`.
  const finite = times === undefined || times === Infinity ? {} : { times };
  return { ...shown, ...finite, left: left === Infinity ? null : left };
}
