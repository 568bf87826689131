import { code, line, tableOf, type Block, type Piece } from "./document.js";
import { describeCause, groupFailures, lineOf } from "../failure-texts.js";
import type { FleetPlan } from "../plan.js";
import type { Failure, FleetReport } from "../reports.js";

/** Rows of a table in text and Markdown. */
export const MOST_ROWS = 100;
/** Names in a list of names. */
const MOST_NAMES = 20;
/** Stacks beside names of workspaces. */
const MOST_STACKS = 3;

/** "1 stack", "4 stacks". */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** "0.4 s", "12 s", "2 min 5 s", "1 h 2 min". */
export function duration(seconds: number): string {
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60
    ? `${minutes} min ${whole % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Names one after the other, and how many are left out. */
export function listNames(names: readonly string[]): Piece[] {
  const shown = names.slice(0, MOST_NAMES).flatMap((name): Piece[] => [", ", code(name)]);
  return [...shown.slice(1), moreThan(names, MOST_NAMES)];
}

export const cutNames = (names: readonly string[], most = MOST_NAMES): string =>
  names.slice(0, most).join(", ") + moreThan(names, most);

const moreThan = ({ length }: readonly string[], most: number): string =>
  length > most ? ` and ${length - most} more` : "";

/** Which workspace failed, and why. What failed for the same reason is one row, whatever the stack. */
export function describeFailures(failures: readonly (Failure & { repair?: string })[]): Block[] {
  const hasRepairs = failures.some(({ repair }) => repair !== undefined);
  const rows = groupFailures(failures).map((group): Piece[] => {
    const names = group.map(({ workspace }) => workspace).filter((name) => name !== undefined);
    const stacks = [...new Set(group.map(({ stack }) => stack))];
    const who = names.length === 0 ? "the stack" : code(cutNames(names));
    const where = cutNames(stacks, names.length === 0 ? MOST_NAMES : MOST_STACKS);
    const cells = [who, code(where), code(whyOf(group))];
    return hasRepairs ? [...cells, group[0]?.repair ?? ""] : cells;
  });
  const head = ["failed", "stack", "why", ...(hasRepairs ? ["repair"] : [])];
  return tableOf({ head, rows, of: "failures" });
}

/** Whole if it is the same for all; else what they share. */
function whyOf(group: readonly Failure[]): string {
  const texts = new Set(group.map(lineOf));
  const [first] = group;
  if (first === undefined) return "";
  return texts.size === 1 ? lineOf(first) : describeCause(first);
}

/** Such as "12 keys, 3 responders to create; 1 key to delete". */
export function listOthers(others: FleetPlan["others"]): string {
  const byChange = Map.groupBy(others, ({ change }) => change);
  const told = [...byChange].map(([change, counts]) => {
    const kinds = counts.map((one) => count(one.count, one.kind)).join(", ");
    return `${kinds} to ${change}`;
  });
  return told.join("; ");
}

/** Why a run ended early, and what it did not begin. */
export function describeStop({ stoppedBy, skipped }: Pick<FleetReport, "stoppedBy" | "skipped">): Block[] {
  const why = stoppedBy === undefined ? [] : [line(`Stopped: ${stoppedBy}.`)];
  const left = skipped.filter((one) => one.why === "stopped");
  if (left.length === 0) return why;
  const workspaces = left.reduce((sum, one) => sum + one.workspaces, 0);
  return [...why, line(`Not begun: ${count(left.length, "stack")} with ${count(workspaces, "workspace")}.`)];
}

/** How many calls the service got. */
export function describeCalls(calls: Readonly<Record<string, number>>, answers429: number): Block {
  const made = Object.entries(calls)
    .filter(([, number]) => number > 0)
    .map(([operation, number]) => `${number} ${operation}`);
  const sent = made.length === 0 ? "none" : made.join(", ");
  return line(`Calls to the service: ${sent}; ${count(answers429, "answer")} with HTTP 429.`);
}
