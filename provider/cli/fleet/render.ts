import { describeCause, groupFailures, lineOf } from "../../fleet/failures.js";
import type { FleetPlan } from "../../fleet/plan.js";
import { WEBHOOK_CHANGES, type Failure, type FleetReport, type StackReport } from "../../fleet/reports.js";
import type { RotationReport } from "../../fleet/rotate.js";
import type { DriftedResource, DriftedWorkspace, DriftReport } from "../../fleet/watch.js";
import {
  code,
  count,
  duration,
  heading,
  line,
  MAX_ROWS,
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

function describeReport(report: FleetReport, program: string): Block[] {
  return [
    heading(`Fleet ${report.fleet}, ${report.action}: ${report.outcome} in ${duration(report.seconds)}`),
    ...describeRanStacks(report),
    ...describeFailures(report.failures),
    ...describeEnd(report, program),
  ];
}

const HEAD = ["stack", "outcome", "created", "updated", "deleted", "same", "drifted", "failed", "seconds"];

const isDone = ([, outcome]: readonly Piece[]): number => Number(outcome === "done");

function describeRanStacks({ stacks, skipped, failures, seconds }: FleetReport): Block[] {
  const rows = [
    ...stacks.map((stack) => [code(stack.stack), stack.outcome, ...ranCells(stack)]),
    ...skipped.map(({ stack, reason }) => [
      code(stack),
      reason === "already-done" ? "already done" : "not started",
      ...HEAD.slice(2).map(() => ""),
    ]),
  ];
  return tableOf({
    head: HEAD,
    // If some have to be left out, leave out those that are done.
    rows: rows.length <= MAX_ROWS ? rows : rows.toSorted((a, b) => isDone(a) - isDone(b)),
    totals: [
      "total",
      "",
      ...ranCells({ webhooks: stacks.flatMap((one) => one.webhooks), failures, seconds }),
    ],
    of: "stacks",
  });
}

type Ran = Pick<StackReport, "webhooks" | "failures">;

/** How many webhooks were created, updated and so on, in the order of the table. */
export function countChanges({ webhooks, failures }: Ran): Record<string, number> {
  const changes = WEBHOOK_CHANGES.map(
    (change) => [change, webhooks.filter((one) => one.change === change).length] as const,
  );
  const drifted = webhooks.filter(({ drift }) => drift !== undefined).length;
  return { ...Object.fromEntries(changes), drifted, failed: failures.length };
}

const ranCells = ({ seconds, ...ran }: Ran & { seconds: number }): Piece[] => [
  ...Object.values(countChanges(ran)).map(String),
  seconds.toFixed(1),
];

function describeEnd(report: FleetReport, program: string): Block[] {
  if (report.outcome === "done") return [];
  // What is done stays done; what failed has to be fixed first.
  const next = report.failures.length === 0 ? "To continue" : "After fixing this, continue with";
  return [...describeStop(report), line(`${next}: `, code(`${program} ${commandAgain(report)}`))];
}

const commandAgain = (report: FleetReport): string => {
  if (report.action === "up") return "up --only-failed";
  return "rotation" in report ? `rotate --rotation ${String(report.rotation)}` : report.action;
};

/** What each stack of a fleet would do, and what is registered where a webhook would be created. */
export const renderPlan = (plan: FleetPlan, format: Format, options?: RenderOptions): string =>
  renderAs(plan, format, describePlan, options);

function describePlan(plan: FleetPlan, program: string): Block[] {
  const { totals, creates, unknownReasons, takenOver, removals, others, index, stacks } = plan;
  const unsure = totals.create === 0 ? 0 : creates.taken + creates.unknown;
  const isRefused = unknownReasons.some(({ code: reason }) => reason === "unauthorized");
  const randomKeys = stacks.reduce((sum, stack) => sum + stack.randomKeys, 0);
  return [
    heading(`Plan of the fleet ${plan.fleet}: ${plan.outcome} in ${duration(plan.seconds)}`),
    ...describePlannedStacks(plan),
    ...lineIf(totals.create > 0, `To be created: ${describeCreates(plan)}.`),
    // Foreign registrations are only counted here; apichat webhook plan names them.
    ...lineIf(unsure > 0, "To see which: ", code("apichat webhook plan --file LIST")),
    ...lineIf(
      isRefused,
      "The service rejects an API key, so up would fail. Set the current key in ",
      code("APICHAT_API_KEY"),
      ", or as apiKey or apiKeyEnv in the list, then: ",
      code(`${program} plan`),
    ),
    ...lineIf(
      takenOver > 0,
      `${count(takenOver, "workspace")} taken over by somebody else: up fails there. Which: `,
      code(`${program} watch`),
    ),
    ...lineIf(
      removals.length > 0,
      `${count(removals.length, "workspace")} left the list and would lose the webhook: `,
      code(listNames(removals)),
    ),
    ...lineIf(others.length > 0, `In addition to the webhooks: ${listOthers(others)}.`),
    ...lineIf(index === "stale", "The index stack is stale: up writes it."),
    ...lineIf(
      randomKeys > 0,
      `${count(randomKeys, "random key")}: the state of their stacks is written after each resource, because a killed run would lose new ones.`,
    ),
    ...describeFailures(plan.failures),
    ...describeStop(plan),
  ];
}

const lineIf = (isSo: boolean, ...pieces: Piece[]): Block[] => (isSo ? [line(...pieces)] : []);

const plannedCells = (changes: FleetPlan["totals"], failures: number): Piece[] =>
  [...WEBHOOK_CHANGES.map((change) => changes[change]), failures].map(String);

function describePlannedStacks({ stacks, totals }: FleetPlan): Block[] {
  const failed = stacks.reduce((sum, { failures }) => sum + failures.length, 0);
  return tableOf({
    head: ["stack", "plan", "create", "update", "delete", "same", "failures"],
    rows: stacks.map((stack) => [
      code(stack.stack),
      stack.outcome,
      ...plannedCells(stack, stack.failures.length),
    ]),
    totals: ["total", "", ...plannedCells(totals, failed)],
    of: "stacks",
  });
}

/** The most reasons in a line. */
const MAX_REASONS = 3;

/** Such as "3 free, 0 adopted …, 13 unknown: 12 unauthorized (HTTP 401), 1 timeout". */
function describeCreates({ creates: { free, adopted, taken, unknown }, unknownReasons }: FleetPlan): string {
  const reasons = unknownReasons.slice(0, MAX_REASONS).map((one) => `${one.count} ${one.reason}`);
  const more = unknownReasons.length - MAX_REASONS;
  const others = more > 0 ? ` and ${count(more, "other reason")}` : "";
  const why = reasons.length === 0 ? "" : `: ${reasons.join(", ")}${others}`;
  return `${free} free, ${adopted} adopted (your URL is registered), ${taken} taken by a different URL, ${unknown} unknown${why}`;
}

/** Which waves of a rotation are done and verified, and then what each stack did. */
export const renderRotation = (report: RotationReport, format: Format, options?: RenderOptions): string =>
  renderAs(report, format, describeRotation, options);

function describeRotation(report: RotationReport, program: string): Block[] {
  return [
    heading(`Rotation ${report.rotation} of the fleet ${report.fleet}`),
    ...lineIf(report.note !== undefined, `${report.note}.`),
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
    code(listNames(stacks)),
  ]);
  return tableOf({ head: ["wave", "outcome", "rotated", "failures", "stacks"], rows, of: "waves" });
}

/** Names only the unknown ones: the others may be the whole fleet. */
function describeKeys({ keys }: RotationReport): Block[] {
  const counts = `Keys: ${keys.new.length} new, ${keys.old.length} old (still accepted), ${keys.unknown.length} unknown`;
  return [
    keys.unknown.length === 0 ? line(`${counts}.`) : line(`${counts}: `, code(listNames(keys.unknown))),
  ];
}

/** Which workspaces differ from what is declared, in what, and which command repairs it. Contains no values of keys. */
export const renderDrift = (report: DriftReport, format: Format, options?: RenderOptions): string =>
  renderAs(report, format, describeDrift, options);

function describeDrift(report: DriftReport): Block[] {
  const { checked, seconds, checkedAt, workspaces, others, failures } = report;
  const more = others.length === 0 ? "" : `, and ${count(others.length, "other resource")} to change`;
  return [
    heading(`Fleet ${report.fleet}: ${OUTCOMES[report.outcome]}`),
    line(
      `${count(checked, "workspace")} checked in ${duration(seconds)}, at ${checkedAt}; ${workspaces.length} with drift${more}.`,
    ),
    ...tableOf({
      head: ["workspace", "stack", "property", "expected", "actual", "repair"],
      rows: [...workspaces.flatMap(rowsOf), ...others.map(rowOfOther)],
      of: "differences",
    }),
    ...describeFailures(failures),
    ...describeStop(report),
  ];
}

const OUTCOMES: Record<DriftReport["outcome"], string> = {
  "no-drift": "no drift",
  drift: "drift",
  failed: "the check failed",
};

/** How to show a difference that has no property. */
const KINDS: Record<DriftedWorkspace["kind"], [expected: string, actual: string]> = {
  changed: ["as deployed", "changed"],
  gone: ["registered", "nothing is registered"],
  "taken-over": ["registered", "a different URL and key"],
  "not-deployed": ["registered", "not deployed yet"],
  "to-be-removed": ["removed: it left the list", "still deployed"],
};

const rowsOf = (drifted: DriftedWorkspace): Piece[][] =>
  differencesOf(drifted).map((cells) => [
    code(drifted.workspace),
    code(drifted.stack),
    ...cells,
    drifted.repair,
  ]);

/** A takeover gets one row: every other difference follows from it. */
function differencesOf({ kind, properties }: DriftedWorkspace): Piece[][] {
  if (properties.length === 0) return [["webhook", ...KINDS[kind]]];
  const url = properties.find(({ property }) => property === "webhookUrl");
  if (kind === "taken-over" && url)
    return [["webhook", code(url.expected), code(`${url.actual} with a different key`)]];
  return properties.map(({ property, expected, actual }) =>
    property === "webhookVerificationKey"
      ? [code(property), "[secret]", "[secret]"]
      : [code(property), code(expected), code(actual)],
  );
}

const OTHER_CHANGES: Record<DriftedResource["change"], [expected: string, actual: string]> = {
  create: ["there", "missing"],
  update: ["as declared", "differs"],
  delete: ["removed", "still there"],
};

/** The last part of the type is the name of the class. */
const rowOfOther = ({ name, type, stack, change, repair }: DriftedResource): Piece[] => [
  code(name),
  code(stack),
  code(type.split(":").at(-1) ?? type),
  ...OTHER_CHANGES[change],
  repair,
];

/** The most names in a list. */
const MAX_NAMES = 20;
/** The most stacks next to names of workspaces. */
const MAX_STACKS = 3;

const listNames = (names: readonly string[], most = MAX_NAMES): string =>
  names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "");

/** Which workspace failed, and why. Failures of the same cause share a row, across stacks. */
const describeFailures = (failures: readonly Failure[]): Block[] =>
  tableOf({
    head: ["failed", "stack", "why"],
    rows: groupFailures(failures).map((group): Piece[] => {
      const names = group.map(({ workspace }) => workspace).filter((name) => name !== undefined);
      const stacks = [...new Set(group.map(({ stack }) => stack))];
      const who = names.length === 0 ? "the stack" : code(listNames(names));
      const where = listNames(stacks, names.length === 0 ? MAX_NAMES : MAX_STACKS);
      return [who, code(where), code(whyOf(group))];
    }),
    of: "failures",
  });

/** The whole line if it is the same for all, else what they have in common. */
const whyOf = ([first, ...others]: readonly Failure[]): string => {
  if (first === undefined) return "";
  return others.every((one) => lineOf(one) === lineOf(first)) ? lineOf(first) : describeCause(first);
};

/** Such as "12 keys, 3 responders to create; 1 key to delete". */
export const listOthers = (others: FleetPlan["others"]): string =>
  [...Map.groupBy(others, ({ change }) => change)]
    .map(([change, counts]) => `${counts.map((one) => count(one.count, one.kind)).join(", ")} to ${change}`)
    .join("; ");

/** Why a run ended early, and what it did not start. */
function describeStop({ stoppedBy, skipped }: Pick<FleetReport, "stoppedBy" | "skipped">): Block[] {
  const left = skipped.filter((one) => one.reason === "stopped");
  const workspaces = left.reduce((sum, one) => sum + one.workspaces, 0);
  return [
    ...lineIf(stoppedBy !== undefined, `Stopped: ${stoppedBy}.`),
    ...lineIf(
      left.length > 0,
      `Not started: ${count(left.length, "stack")} with ${count(workspaces, "workspace")}.`,
    ),
  ];
}
