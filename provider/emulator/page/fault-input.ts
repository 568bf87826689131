import { ANSWER_FAULTS, DELIVERY_FAULTS } from "../fault-names.js";
import type { Fault, FaultOperation, FaultRule } from "../faults.js";

const TIMED = ["status", "delay"] as const;

export type FaultKind =
  (typeof TIMED | typeof ANSWER_FAULTS | typeof DELIVERY_FAULTS)[number] | "statusField";

/** What can go wrong with an operation. */
export function faultKindsOf(operation: FaultOperation): readonly FaultKind[] {
  if (operation === "delivery") return [...TIMED, ...DELIVERY_FAULTS];
  return [...TIMED, ...ANSWER_FAULTS, ...(operation === "handshake" ? [] : (["statusField"] as const))];
}

/** The fields of the fault panel, as they are filled in. Empty texts are left out of the rule. */
export interface FaultFields {
  operation: FaultOperation;
  workspace: string;
  kind: FaultKind;
  status: string;
  delayMs: string;
  statusField: string;
  afterChange: boolean;
  times: string;
  probability: string;
  seed: string;
}

/** The rule that the fields describe. The emulator checks it. */
export function faultRuleOf(fields: FaultFields): FaultRule {
  // Without either the emulator takes one call: one in one is every call.
  const endless = fields.times === "" && fields.probability === "";
  return {
    operation: fields.operation,
    ...(fields.workspace === "" ? {} : { workspace: fields.workspace }),
    ...(endless ? { every: 1 } : numberOf("times", fields.times)),
    ...numberOf("probability", fields.probability),
    ...(fields.probability === "" ? {} : numberOf("seed", fields.seed)),
    fault: faultOf(fields),
  };
}

/** Whether the kind has a switch for its moment: before the change is made, or after. */
export function hasMoment(kind: FaultKind): boolean {
  return kind === "status" || kind === "delay" || kind === "statusField";
}

function faultOf({ kind, status, delayMs, statusField, afterChange }: FaultFields): Fault {
  const moment = afterChange ? { afterChange } : {};
  if (kind === "status") return { status: Number(status), ...moment };
  if (kind === "delay") return { delayMs: Number(delayMs), ...moment };
  return kind === "statusField" ? { statusField, ...moment } : kind;
}

function numberOf<Name extends string>(name: Name, text: string): Partial<Record<Name, number>> {
  return text === "" ? {} : ({ [name]: Number(text) } as Record<Name, number>);
}
