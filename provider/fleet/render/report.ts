import type { FleetReport, StackReport, WebhookChange } from "../reports.js";
import { code, heading, line, tableOf, type Block, type Piece } from "./document.js";
import { renderAs, type Format, type RenderOptions } from "./render.js";
import { describeCalls, describeFailures, describeStop, duration, MOST_ROWS } from "./wording.js";

/** What a run did with each stack of a fleet, what failed, and what to do next. */
export const renderReport = (report: FleetReport, format: Format, options?: RenderOptions): string =>
  renderAs(report, format, describeReport, options);

export function describeReport(report: FleetReport, program: string): Block[] {
  return [
    heading(`Fleet ${report.fleet}, ${report.action}: ${report.outcome} in ${duration(report.seconds)}`),
    ...describeStacks(report),
    ...describeFailures(report.failures),
    describeCalls(report.calls, report.answers429),
    ...describeEnd(report, program),
  ];
}

interface Row {
  stack: string;
  outcome: string;
  cells: Piece[];
}

const HEAD = ["stack", "outcome", "created", "updated", "deleted", "same", "drifted", "failed", "seconds"];

function describeStacks(report: FleetReport): Block[] {
  const rows = [...report.stacks.map(rowOfStack), ...report.skipped.map(rowOfSkipped)];
  return tableOf({
    head: HEAD,
    rows: troubledFirst(rows).map(({ stack, outcome, cells }) => [code(stack), outcome, ...cells]),
    totals: ["total", "", ...cellsOf(sumOf(report)), report.seconds.toFixed(1)],
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
  cells: [...cellsOf(stack), stack.seconds.toFixed(1)],
});

const rowOfSkipped = ({ stack, why }: FleetReport["skipped"][number]): Row => ({
  stack,
  outcome: why === "done-before" ? "done before" : "not begun",
  cells: ["", "", "", "", "", "", ""],
});

type Counted = Pick<StackReport, "webhooks" | "failures">;

function cellsOf({ webhooks, failures }: Counted): Piece[] {
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
  failures.length === 0 ? "To go on" : "When it is fixed, this does what is left";

const commandAgain = ({ action }: FleetReport): string =>
  action === "up" || action === "rotate" ? `${action} --resume` : action;
