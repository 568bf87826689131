import * as z from "zod";
import type { EmulatorState } from "./emulator-state.js";
import { parseOptions } from "./check-options.js";

/** What a fault strikes: an action of section 4.1, or the handshake that set-webhook makes (section 6.1). */
export type FaultOperation = "get-webhook" | "set-webhook" | "delete-webhook" | "handshake";

/**
 * What goes wrong with one call of the registration interface:
 * - `{ status }`: this HTTP status, with `Retry-After` and a body if given. The change is not made, unless `afterChange`.
 * - `{ delayMs }`: the answer comes late. The change is made when the delay is over; with `afterChange`, before it.
 * - `{ statusField }`: HTTP 200 with this envelope status in place of `ok`. The change is not made, unless `afterChange`.
 * - `broken-json`, `html`, `truncated`: the change is made; the answer is cut JSON, an HTML page, or a body that ends
 *   before its `Content-Length`.
 * - `close-before`, `close-after`: the connection is closed without an answer, before or after the change is made.
 *
 * A fault of the handshake stands for what the webhook URL answers, so the handshake fails: nothing is sent to it,
 * except with `close-after` (sent, its answer is lost) and `{ delayMs }` (sent late; the time limit runs meanwhile).
 */
export type Fault =
  | { status: number; retryAfterSeconds?: number; body?: string; afterChange?: boolean }
  | { delayMs: number; afterChange?: boolean }
  | { statusField: string; afterChange?: boolean }
  | "broken-json"
  | "html"
  | "truncated"
  | "close-before"
  | "close-after";

export interface FaultRule {
  operation: FaultOperation;
  /** Only calls of this workspace. Default: all. Calls with a wrong API key are never struck. */
  workspace?: string;
  /** How many calls are struck; then the rule is spent. Default 1, with `every` unlimited. */
  times?: number;
  /** Strikes one matching call in this many: the last of each. Default 1: every one. */
  every?: number;
  fault: Fault;
}

/** A rule with what is left of it. */
interface ActiveRule extends FaultRule {
  every: number;
  left: number;
  seen: number;
}

/** The rules of one emulator, in the order they were injected. */
export type FaultList = ActiveRule[];

const count = z.union([z.int().min(1), z.literal(Infinity)], {
  error: "must be a whole number from 1, or Infinity",
});
const afterChange = z.boolean().optional();

const fault = z.union(
  [
    z.strictObject({
      status: z.int().min(200).max(599),
      retryAfterSeconds: z.number().min(0).optional(),
      body: z.string().optional(),
      afterChange,
    }),
    z.strictObject({ delayMs: z.number().min(0).max(2_147_483_647), afterChange }),
    z.strictObject({ statusField: z.string(), afterChange }),
    z.enum(["broken-json", "html", "truncated", "close-before", "close-after"]),
  ],
  {
    error:
      "must be { status }, { delayMs }, { statusField }, 'broken-json', 'html', 'truncated', 'close-before' or 'close-after'",
  },
);

export const faultRule = z.strictObject({
  operation: z.enum(["get-webhook", "set-webhook", "delete-webhook", "handshake"]),
  workspace: z.string().optional(),
  times: count.optional(),
  every: z.int().min(1).optional(),
  fault,
});

/** Adds a rule behind the others; throws `invalid_config` if it is no rule. */
export function addFault(
  { faults, changes }: Pick<EmulatorState, "faults" | "changes">,
  rule: FaultRule,
): void {
  const parsed = parseOptions("injectFault", faultRule, rule);
  const left = parsed.times ?? (parsed.every === undefined ? 1 : Infinity);
  faults.push({ ...parsed, every: parsed.every ?? 1, left, seen: 0 });
  changes.publish({ kind: "faults" });
}

/** The fault that strikes this call, if any: the first rule that applies, which is then one call nearer its end. */
export function takeFault(
  { faults, changes }: Pick<EmulatorState, "faults" | "changes">,
  operation: FaultOperation,
  workspace: string,
): Fault | undefined {
  for (const rule of faults) {
    if (!matches(rule, operation, workspace)) continue;
    rule.seen += 1;
    if (rule.seen % rule.every !== 0) continue;
    rule.left -= 1;
    changes.publish({ kind: "faults" });
    return rule.fault;
  }
  return undefined;
}

function matches(rule: ActiveRule, operation: FaultOperation, workspace: string): boolean {
  const forWorkspace = rule.workspace === undefined || rule.workspace === workspace;
  return rule.left > 0 && rule.operation === operation && forWorkspace;
}
