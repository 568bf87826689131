import { describeCause, groupFailures, lineOf } from "../../fleet/failures.js";
import type { FleetPlan } from "../../fleet/plan.js";
import type {
  DriftedProperty,
  Failure,
  FleetReport,
  StackReport,
  WebhookChange,
} from "../../fleet/reports.js";
import type { RotationReport } from "../../fleet/rotate.js";
import type { DriftedResource, DriftedWorkspace, DriftReport } from "../../fleet/watch.js";
import {
  code,
  count,
  duration,
  heading,
  line,
  MOST_ROWS,
  renderAs,
  tableOf,
  type Block,
  type Format,
  type Piece,
  type RenderOptions,
} from "./document.js";

/** What a run did with each stack of a fleet, what failed, and what to do next. */
export const renderReport = (report: FleetReport, format: Format, options?: RenderOptions): string =>
  renderAs(report, format, describeReport, options);

export function describeReport(report: FleetReport, program: string): Block[] {
  return [
    heading(`Fleet ${report.fleet}, ${report.action}: ${report.outcome} in ${duration(report.seconds)}`),
    ...describeRanStacks(report),
    ...describeFailures(report.failures),
    ...describeEnd(report, program),
  ];
}

interface Row {
  stack: string;
  outcome: string;
  cells: Piece[];
}

const HEAD = ["stack", "outcome", "created", "updated", "deleted", "same", "drifted", "failed", "seconds"];

function describeRanStacks(report: FleetReport): Block[] {
  const rows = [...report.stacks.map(rowOfStack), ...report.skipped.map(rowOfSkipped)];
  return tableOf({
    head: HEAD,
    rows: troubledFirst(rows).map(({ stack, outcome, cells }) => [code(stack), outcome, ...cells]),
    totals: ["total", "", ...ranCells(sumOf(report)), report.seconds.toFixed(1)],
    of: "stacks",
  });
}

/** Only where some are left out: those are better the ones that are done. */
const troubledFirst = (rows: Row[]): Row[] =>
  rows.length <= MOST_ROWS
    ? rows
    : rows.toSorted((a, b) => Number(a.outcome === "done") - Number(b.outcome === "done"));

const rowOfStack = (stack: StackReport): Row => ({
  stack: stack.stack,
  outcome: stack.outcome,
  cells: [...ranCells(stack), stack.seconds.toFixed(1)],
});

const rowOfSkipped = ({ stack, why }: FleetReport["skipped"][number]): Row => ({
  stack,
  outcome: why === "not-failed" ? "not failed before" : "not begun",
  cells: ["", "", "", "", "", "", ""],
});

type Counted = Pick<StackReport, "webhooks" | "failures">;

function ranCells({ webhooks, failures }: Counted): Piece[] {
  const changed = (change: WebhookChange): number => webhooks.filter((one) => one.change === change).length;
  const drifted = webhooks.filter(({ drift }) => drift !== undefined).length;
  return [
    changed("create"),
    changed("update"),
    changed("delete"),
    changed("same"),
    drifted,
    failures.length,
  ].map(String);
}

const sumOf = ({ stacks, failures }: FleetReport): Counted => ({
  webhooks: stacks.flatMap(({ webhooks }) => webhooks),
  failures,
});

function describeEnd(report: FleetReport, program: string): Block[] {
  if (report.outcome === "done") return [];
  return [...describeStop(report), line(`${nextStep(report)}: `, code(`${program} ${commandAgain(report)}`))];
}

/** What is done stays done; what failed has to be fixed first. */
const nextStep = ({ failures }: FleetReport): string =>
  failures.length === 0 ? "To continue" : "When it is fixed, this does what is left";

const commandAgain = (report: FleetReport): string => {
  if (report.action === "up") return "up --only-failed";
  return "rotation" in report ? `rotate --rotation ${String(report.rotation)}` : report.action;
};

/** Reasons in a line. */
const MOST_REASONS = 3;

/** What each stack of a fleet would do, and what is registered where a webhook would be created. */
export const renderPlan = (plan: FleetPlan, format: Format, options?: RenderOptions): string =>
  renderAs(plan, format, describePlan, options);

function describePlan(plan: FleetPlan, program: string): Block[] {
  return [
    heading(`Plan of the fleet ${plan.fleet}: ${plan.outcome} in ${duration(plan.seconds)}`),
    ...describePlannedStacks(plan),
    ...describeCreates(plan),
    ...describeRefusedKeys(plan, program),
    ...describeTakenOver(plan, program),
    ...describeRemovals(plan.removals),
    ...describeOtherChanges(plan),
    ...describeRandomKeys(plan),
    ...describeFailures(plan.failures),
    ...describeStop(plan),
  ];
}

function describePlannedStacks({ stacks, totals }: FleetPlan): Block[] {
  return tableOf({
    head: ["stack", "plan", "create", "update", "delete", "same", "failures"],
    rows: stacks.map((stack) => [
      code(stack.stack),
      stack.outcome,
      ...plannedCells(stack),
      String(stack.failures.length),
    ]),
    totals: [
      "total",
      "",
      ...plannedCells(totals),
      String(stacks.reduce((sum, { failures }) => sum + failures.length, 0)),
    ],
    of: "stacks",
  });
}

const plannedCells = (changes: FleetPlan["totals"]): Piece[] =>
  [changes.create, changes.update, changes.delete, changes.same].map(String);

/** Whoever else is registered at a workspace is counted here, and named only by the command that one asks for it. */
function describeCreates({
  creates: { free, adopted, taken, unknown },
  unknownReasons,
  totals,
}: FleetPlan): Block[] {
  if (totals.create === 0) return [];
  const found = [
    `${free} free`,
    `${adopted} adopted (your URL is registered)`,
    `${taken} taken by another URL`,
    `${unknown} unknown${describeReasons(unknownReasons)}`,
  ];
  const lines: Block[] = [line(`To be created: ${found.join(", ")}.`)];
  if (taken + unknown > 0) {
    lines.push(
      line(`Which ${taken + unknown === 1 ? "one it is" : "ones they are"}: `, {
        code: "apichat webhook plan --file LIST",
      }),
    );
  }
  return lines;
}

/** Such as ": 12 unauthorized (HTTP 401), 1 timeout". */
function describeReasons(reasons: FleetPlan["unknownReasons"]): string {
  if (reasons.length === 0) return "";
  const shown = reasons.slice(0, MOST_REASONS).map((one) => `${one.count} ${one.reason}`);
  const more = reasons.length - MOST_REASONS;
  return `: ${shown.join(", ")}${more > 0 ? ` and ${count(more, "other reason")}` : ""}`;
}

function describeRefusedKeys({ unknownReasons }: FleetPlan, program: string): Block[] {
  if (!unknownReasons.some(({ code: reason }) => reason === "unauthorized")) return [];
  const what = "The service refuses an API key, so up would fail. Give the key of today as ";
  return [
    line(
      what,
      code("APICHAT_API_KEY"),
      ", or as apiKey or apiKeyEnv in the list, then: ",
      code(`${program} plan`),
    ),
  ];
}

function describeTakenOver({ takenOver }: FleetPlan, program: string): Block[] {
  if (takenOver === 0) return [];
  const what = `${count(takenOver, "workspace")} taken over by somebody else: up fails there. Which: `;
  return [line(what, code(`${program} watch`))];
}

function describeOtherChanges({ others, index }: FleetPlan): Block[] {
  const lines = others.length === 0 ? [] : [line(`Besides the webhooks: ${listOthers(others)}.`)];
  return index === "current" ? lines : [...lines, line("The index stack is stale: up writes it.")];
}

/** Derived keys can be computed again, so their states are written at the end. */
function describeRandomKeys({ stacks }: FleetPlan): Block[] {
  const keys = stacks.reduce((sum, { randomKeys }) => sum + randomKeys, 0);
  if (keys === 0) return [];
  const why =
    "the state of their stacks is written after each resource, because a killed run would lose them";
  return [line(`${count(keys, "random key")} to make: ${why}.`)];
}

function describeRemovals(removals: readonly string[]): Block[] {
  if (removals.length === 0) return [];
  const what = `${count(removals.length, "workspace")} left the list and would lose the webhook: `;
  return [line(what, ...listNames(removals))];
}

/** Which waves of a rotation are done and verified, and then what each stack did. */
export const renderRotation = (report: RotationReport, format: Format, options?: RenderOptions): string =>
  renderAs(report, format, describeRotation, options);

function describeRotation(report: RotationReport, program: string): Block[] {
  return [
    heading(`Rotation ${report.rotation} of the fleet ${report.fleet}`),
    ...(report.note === undefined ? [] : [line(`${report.note}.`)]),
    ...describeWaves(report),
    ...describeKeys(report),
    ...describeReport(report, program),
  ];
}

function describeWaves({ waves }: RotationReport): Block[] {
  const rows = waves.map(({ stacks, outcome, rotated, failures }, index) => [
    String(index + 1),
    outcome === "done" ? "verified" : outcome,
    String(rotated),
    String(failures.length),
    code(cutNames(stacks)),
  ]);
  return tableOf({ head: ["wave", "outcome", "rotated", "failures", "stacks"], rows, of: "waves" });
}

/** The other workspaces are only counted: their number may be that of the fleet. */
function describeKeys({ keys }: RotationReport): Block[] {
  const counts = `Keys: ${keys.new.length} new, ${keys.old.length} old (still accepted), ${keys.unsure.length} unsure`;
  return [keys.unsure.length === 0 ? line(`${counts}.`) : line(`${counts}: `, ...listNames(keys.unsure))];
}

/** Which workspaces differ from what is declared, in what, and which command repairs it. No value of a key is in it. */
export const renderDrift = (report: DriftReport, format: Format, options?: RenderOptions): string =>
  renderAs(report, format, describeDrift, options);

function describeDrift(report: DriftReport): Block[] {
  return [
    heading(`Fleet ${report.fleet}: ${OUTCOMES[report.outcome]}`),
    line(
      `${count(report.checked, "workspace")} checked in ${duration(report.seconds)}, at ${report.checkedAt}; ${report.workspaces.length} with drift${describeOthers(report.others)}.`,
    ),
    ...tableOf({
      head: ["workspace", "stack", "property", "expected", "actual", "repair"],
      rows: [...report.workspaces.flatMap(rowsOf), ...report.others.map(rowOfOther)],
      of: "differences",
    }),
    ...describeFailures(report.failures),
    ...describeStop(report),
  ];
}

const OUTCOMES: Record<DriftReport["outcome"], string> = {
  "no-drift": "no drift",
  drift: "drift",
  failed: "the check failed",
};

/** What differs where no property tells it. */
const KINDS: Record<DriftedWorkspace["kind"], { expected: string; actual: string }> = {
  changed: { expected: "as deployed", actual: "changed" },
  gone: { expected: "registered", actual: "nothing is registered" },
  "taken-over": { expected: "registered", actual: "another URL with another key" },
  "not-deployed": { expected: "registered", actual: "not deployed yet" },
  "to-be-removed": { expected: "removed: it left the list", actual: "still deployed" },
};

const rowsOf = (drifted: DriftedWorkspace): Piece[][] =>
  differencesOf(drifted).map((cells) => [
    code(drifted.workspace),
    code(drifted.stack),
    ...cells,
    drifted.repair,
  ]);

/** Of a takeover one row: whatever else differs comes of it. */
function differencesOf({ kind, properties }: DriftedWorkspace): Piece[][] {
  const { expected, actual } = KINDS[kind];
  if (properties.length === 0) return [["webhook", expected, actual]];
  const url = properties.find(({ property }) => property === "webhookUrl");
  return kind === "taken-over" && url
    ? [["webhook", code(url.expected), code(`${url.actual} with another key`)]]
    : properties.map(driftCells);
}

const describeOthers = ({ length }: readonly DriftedResource[]): string =>
  length === 0 ? "" : `, and ${count(length, "other resource")} to change`;

const OTHER_CHANGES: Record<DriftedResource["change"], { expected: string; actual: string }> = {
  create: { expected: "there", actual: "missing" },
  update: { expected: "as declared", actual: "differs" },
  delete: { expected: "removed", actual: "still there" },
};

/** The last part of the type is the name of the class. */
function rowOfOther({ name, type, stack, change, repair }: DriftedResource): Piece[] {
  const { expected, actual } = OTHER_CHANGES[change];
  return [code(name), code(stack), code(type.split(":").at(-1) ?? type), expected, actual, repair];
}

const driftCells = ({ property, expected, actual }: DriftedProperty): Piece[] =>
  property === "webhookVerificationKey"
    ? [code(property), "[secret]", "[secret]"]
    : [code(property), code(expected), code(actual)];

/** Names in a list of names. */
const MOST_NAMES = 20;
/** Stacks beside names of workspaces. */
const MOST_STACKS = 3;

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
  const lines = [...byChange].map(([change, counts]) => {
    const kinds = counts.map((one) => count(one.count, one.kind)).join(", ");
    return `${kinds} to ${change}`;
  });
  return lines.join("; ");
}

/** Why a run ended early, and what it did not begin. */
export function describeStop({ stoppedBy, skipped }: Pick<FleetReport, "stoppedBy" | "skipped">): Block[] {
  const why = stoppedBy === undefined ? [] : [line(`Stopped: ${stoppedBy}.`)];
  const left = skipped.filter((one) => one.why === "stopped");
  if (left.length === 0) return why;
  const workspaces = left.reduce((sum, one) => sum + one.workspaces, 0);
  return [...why, line(`Not begun: ${count(left.length, "stack")} with ${count(workspaces, "workspace")}.`)];
}
