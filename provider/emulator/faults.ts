import { invalidOption, parseOptions } from "./check-options.js";
import { nextRecord, type EmulatorState } from "./emulator-state.js";
import {
  faultRule,
  fits,
  type Fault,
  type FaultOf,
  type FaultOperation,
  type FaultRule,
} from "./fault-rule.js";
import { createRandom } from "./random.js";

export {
  faultRule,
  type AnswerFault,
  type DeliveryFault,
  type Fault,
  type FaultOf,
  type FaultOperation,
  type FaultRule,
} from "./fault-rule.js";

/** A rule with what has come of it. */
interface ActiveRule extends FaultRule {
  id: string;
  every: number;
  left: number;
  seen: number;
  struck: number;
  random: () => number;
}

/** The rules of one emulator, in the order they were injected. */
export type FaultList = ActiveRule[];

const DEFAULT_SEED = 1;

type Faulty = Pick<EmulatorState, "faults" | "changes">;

/** Adds a rule behind the others and gives its id; throws `invalid_config` if it is no rule. */
export function addFault(state: EmulatorState, rule: FaultRule): string {
  const parsed = parseOptions("injectFault", faultRule, rule);
  const endless = parsed.every !== undefined || parsed.probability !== undefined;
  const { id } = nextRecord(state, "fault");
  state.faults.push({
    ...parsed,
    id,
    every: parsed.every ?? 1,
    left: parsed.times ?? (endless ? Infinity : 1),
    seen: 0,
    struck: 0,
    random: createRandom(parsed.seed ?? DEFAULT_SEED),
  });
  state.changes.publish({ kind: "faults" });
  return id;
}

/** Takes a rule back; throws `invalid_config` if there is none of this id. */
export function removeFault({ faults, changes }: Faulty, id: string): void {
  const index = faults.findIndex((rule) => rule.id === id);
  if (index < 0) throw invalidOption(`there is no fault ${id}`);
  faults.splice(index, 1);
  changes.publish({ kind: "faults" });
}

/** Takes every rule back. */
export function clearFaults({ faults, changes }: Faulty): void {
  faults.length = 0;
  changes.publish({ kind: "faults" });
}

/**
 * The fault that strikes this call, if any: the first rule that applies, which is then one call nearer its end. Rules whose
 * fault is `except` are passed over.
 */
export function takeFault<Operation extends FaultOperation>(
  { faults, changes }: Faulty,
  operation: Operation,
  workspace: string,
  except?: Fault,
): FaultOf<Operation> | undefined {
  for (const rule of faults) {
    if (rule.fault === except || !matches(rule, operation, workspace)) continue;
    if (!fits(operation, rule.fault) || !isDue(rule)) continue;
    rule.left -= 1;
    rule.struck += 1;
    changes.publish({ kind: "faults" });
    return rule.fault;
  }
  return undefined;
}

function matches(rule: ActiveRule, operation: FaultOperation, workspace: string): boolean {
  const forWorkspace = rule.workspace === undefined || rule.workspace === workspace;
  return rule.left > 0 && rule.operation === operation && forWorkspace;
}

function isDue(rule: ActiveRule): boolean {
  rule.seen += 1;
  if (rule.seen % rule.every !== 0) return false;
  return rule.probability === undefined || rule.random() < rule.probability;
}
