import { commandLine, removalCommand } from "../../errors/index.js";
import type {
  DriftReport,
  DriftedWorkspace,
  FleetAction,
  FleetFailure,
  FleetPlan,
  FleetReport,
  RotationReport,
  StackReport,
  WebhookChange,
} from "../../fleet/index.js";
import { listNames, toPlainText } from "../../lib/plain-text.js";
import { formatUrl } from "../../lib/url.js";
import type { Paint } from "../output.js";
import { formatTable } from "../table.js";
import { describeCause, groupFailures, lineOf } from "./failures.js";

export type AnyReport = FleetReport | FleetPlan | RotationReport | DriftReport;

interface Place {
  /** The beginning of each command that a report suggests, such as `node fleet.ts`. */
  program: string;
  paint: Paint;
}

/** Formats a report for people. Shortens long lists. By default, uses no colours. */
export function renderReport(
  report: AnyReport,
  program: string,
  paint: Paint = (_style, text) => text,
): string {
  const { fleet, action, outcome, seconds, failures } = report;
  const place = { program, paint };
  const heading = toPlainText(`Fleet ${fleet}, ${action}: ${outcome} in ${duration(seconds)}`);
  const sections = [
    `${paint("bold", heading)}\n`,
    ...describeReport(report, place),
    describeFailures(failures, place),
    toLines(...describeEnd(report, program)),
  ];
  return sections.filter((section) => section !== "").join("\n");
}

/** For the summary of a CI job: a block of code, in which markup, links and mentions have no effect. */
export function toMarkdown(text: string): string {
  const longest = Math.max(...(text.match(/`+/g) ?? []).map((run) => run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text}${fence}\n`;
}

function describeReport(report: AnyReport, place: Place): string[] {
  if (report.action === "watch") return describeDrift(report, place);
  return [
    ...(report.action === "rotate" ? describeRotation(report, place) : []),
    describeStacks(report, place),
    ...(report.action === "plan" ? [describePlan(report, place)] : []),
  ];
}

/** Joins the lines of one section. Control characters in untrusted text have no effect. */
const toLines = (...lines: (string | false)[]): string =>
  lines.flatMap((line) => (line === false ? [] : [`${toPlainText(line)}\n`])).join("");

const MAX_ROWS = 100;

/** The colours of outcomes. A workspace whose name is an outcome is coloured too. */
const COLOURS = { done: "green", verified: "green", stopped: "yellow", failed: "red" } as const;

interface Table {
  /** The names of the columns, in capital letters, separated by spaces. */
  head: string;
  rows: readonly (readonly string[])[];
  /** The last row, shown even if rows before it are left out. */
  totals?: readonly string[];
  /** What the rows are, in the plural, such as "failures" in "and 5 more failures". */
  of: string;
}

/** A section with a table; empty if it has no rows. */
function toTable({ head, rows, totals, of }: Table, { paint }: Place): string {
  if (rows.length === 0) return "";
  const shown = [...rows.slice(0, MAX_ROWS), ...(totals === undefined ? [] : [totals])];
  const more = rows.length > MAX_ROWS ? `and ${rows.length - MAX_ROWS} more ${of}\n` : "";
  return formatTable(head.split(" "), shown, { paint, colours: COLOURS }) + more;
}

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

export function duration(seconds: number): string {
  if (seconds < 60) return `${Number(seconds.toFixed(1))} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

const COLUMNS = "STACK OUTCOME CREATE UPDATE DELETE SAME FAILED SECONDS";

function describeStacks(report: FleetReport<FleetAction>, place: Place): string {
  const { stacks, skipped, failures, seconds } = report;
  const rows = [
    ...stacks.map((stack) => [stack.stack, stack.outcome, ...cellsOf(stack)]),
    ...skipped.map(({ stack }) => [stack, "not started"]),
  ];
  const totals = cellsOf({ webhooks: stacks.flatMap(({ webhooks }) => webhooks), failures, seconds });
  return toTable({ head: COLUMNS, rows, totals: ["total", "", ...totals], of: "stacks" }, place);
}

const CHANGES: readonly WebhookChange[] = ["create", "update", "delete", "same"];

type CountedStack = Pick<StackReport, "webhooks" | "failures">;

/** How many webhooks get each change, and how many failed, in the order of the table's columns. */
export function countChanges(stacks: readonly CountedStack[]): Record<WebhookChange | "failed", number> {
  const webhooks = stacks.flatMap((stack) => stack.webhooks);
  const counts = CHANGES.map((one) => [one, webhooks.filter(({ change }) => change === one).length]);
  const failed = stacks.flatMap(({ failures }) => failures).length;
  return { ...(Object.fromEntries(counts) as Record<WebhookChange, number>), failed };
}

const cellsOf = ({ seconds, ...ran }: CountedStack & { seconds: number }): string[] => [
  ...Object.values(countChanges([ran])).map(String),
  seconds.toFixed(1),
];

/** Why a run ended early, what it did not start, and the command that continues it. */
function describeEnd(report: AnyReport, program: string): (string | false)[] {
  const { action, outcome, shard, stoppedBy, skipped, failures } = report;
  const workspaces = skipped.reduce((sum, one) => sum + one.workspaces, 0);
  const left = `${count(skipped.length, "stack")} with ${count(workspaces, "workspace")}`;
  // "Continue", because finished stacks need no further run. Failures must be fixed first.
  const next = failures.length === 0 ? "To continue" : "After fixing this, continue with";
  const words = report.action === "rotate" ? `rotate --rotation ${report.rotation}` : action;
  const again = shard === undefined ? words : `${words} --shard ${shard}`;
  return [
    stoppedBy !== undefined && `Stopped: ${stoppedBy}.`,
    skipped.length > 0 && `Not started: ${left}.`,
    outcome !== "done" && !["plan", "watch"].includes(action) && `${next}: ${program} ${again}`,
    // A shard does not write the index stack, so the index stack still has the contents of an earlier run.
    shard !== undefined &&
      ["up", "destroy"].includes(action) &&
      `Shard ${shard} does not update the index stack. ` +
        `When all shards are done, run ${program} ${action} without --shard.`,
  ];
}

function describePlan({ creates, removals, index, stacks, failures }: FleetPlan, { program }: Place): string {
  const created = Object.values(creates).reduce((sum, one) => sum + one, 0);
  const isUnauthorized = failures.some(({ error }) => error?.code === "unauthorized");
  const drifts = stacks.flatMap(({ webhooks }) => webhooks.flatMap(({ drift }) => drift ?? []));
  const takenOver = drifts.filter(({ kind }) => kind === "taken-over").length;
  const keys = listKeys(stacks);
  return toLines(
    created > 0 && `To be created: ${describeCreates(creates)}.`,
    // Foreign registrations are only counted here; apichat webhook plan names them.
    creates.taken + creates.unknown > 0 && `To see which: ${commandLine()} webhook plan --file LIST`,
    isUnauthorized &&
      "The service rejects an API key, so up would fail. Set the current key in APICHAT_API_KEY, " +
        `or as apiKey or apiKeyEnv in the list, then run ${program} plan`,
    takenOver > 0 &&
      `${count(takenOver, "workspace")} taken over by somebody else: up fails there. See ${program} watch`,
    removals.length > 0 &&
      `${count(removals.length, "workspace")} left the list and would lose the webhook: ` +
        listNames(removals, MAX_NAMES),
    keys !== "" && `In addition to the webhooks: ${keys}.`,
    index === "stale" && "The index stack is stale: up updates it.",
  );
}

const describeCreates = ({ free, adopted, taken, unknown }: FleetPlan["creates"]): string =>
  `${free} free, ${adopted} adopted (your URL is registered), ${taken} taken by a different URL, ${unknown} unknown`;

function describeRotation({ rotation, outcome, waves, stacks }: RotationReport, place: Place): string[] {
  const { same, ...changed } = countChanges(stacks);
  const isUnchanged = outcome === "done" && Object.values(changed).every((number) => number === 0);
  const rows = waves.map((wave, index) => [
    String(index + 1),
    wave.outcome === "done" ? "verified" : wave.outcome,
    listNames(wave.stacks, MAX_NAMES),
  ]);
  return [
    toLines(
      `The rotation is named ${rotation}.`,
      isUnchanged &&
        `All ${count(same, "workspace")} already had this rotation's key. To rotate again, use a different name.`,
    ),
    toTable({ head: "WAVE OUTCOME STACKS", rows, of: "waves" }, place),
  ];
}

function describeDrift({ checked, startedAt, workspaces }: DriftReport, place: Place): string[] {
  const head = "WORKSPACE STACK PROPERTY EXPECTED ACTUAL REPAIR";
  const rows = workspaces.flatMap((one) => rowsOf(one, place.program));
  return [
    toLines(`${count(checked, "workspace")} checked at ${startedAt}; ${workspaces.length} with drift.`),
    toTable({ head, rows, of: "differences" }, place),
  ];
}

/** How one workspace differs, and what repairs it: a row for each property, or one row for the whole webhook. */
function rowsOf(drifted: DriftedWorkspace, program: string): string[][] {
  const { workspace, stack, kind, baseUrl = "", properties } = drifted;
  const up = `${program} up`;
  const refresh = `${up} --refresh`;
  const place = [workspace, stack];
  if (kind === "changed") {
    return properties.map((one) => [...place, one.property, one.expected, one.actual, refresh]);
  }
  if (kind === "gone") return [[...place, "webhook", "registered", "nothing is registered", refresh]];
  if (kind === "not-deployed") return [[...place, "webhook", "registered", "not deployed yet", up]];
  if (kind === "to-be-removed") {
    const repair = `${up}, or put the workspace back into the list`;
    return [[...place, "webhook", "removed: no longer listed", "still deployed", repair]];
  }
  // Taken over: all other differences follow from the different URL.
  const url = properties.find(({ property }) => property === "webhookUrl");
  const { expected = "", actual = "" } = url ?? {};
  const removal = removalCommand({ baseUrl, webhookUrl: formatUrl(actual) });
  const repair = `find out who owns the other webhook; if it may be removed: ${removal}; then ${refresh}`;
  return [[...place, "webhook", expected, `${actual} with a different key`, repair]];
}

const MAX_NAMES = 20;
/** How many stacks a row lists if it also lists workspaces. */
const MAX_STACKS = 3;

/** Which workspace failed, and why. Failures with the same cause share a row, even in different stacks. */
function describeFailures(failures: readonly FleetFailure[], place: Place): string {
  const rows = groupFailures(failures).map((group): string[] => {
    const names = group.map(({ workspace }) => workspace).filter((name) => name !== undefined);
    const stacks = [...new Set(group.map(({ stack }) => stack))];
    const who = names.length === 0 ? "the stack" : listNames(names, MAX_NAMES);
    const where = listNames(stacks, names.length === 0 ? MAX_NAMES : MAX_STACKS);
    return [who, where, whyOf(group)];
  });
  return toTable({ head: "FAILED STACK WHY", rows, of: "failures" }, place);
}

/** The whole line if it is the same for all failures, else what the failures have in common. */
const whyOf = ([first, ...others]: readonly FleetFailure[]): string => {
  if (first === undefined) return "";
  return others.every((one) => lineOf(one) === lineOf(first)) ? lineOf(first) : describeCause(first);
};

/** Such as "12 keys to create, 1 key to delete". */
export const listKeys = (stacks: readonly StackReport[]): string =>
  CHANGES.flatMap((change) => {
    const keys = stacks.flatMap((stack) => stack.keys.filter((key) => key.change === change));
    return keys.length > 0 ? [`${count(keys.length, "key")} to ${change}`] : [];
  }).join(", ");
