import { commandLine, removalCommand } from "../../errors/index.js";
import type {
  DriftKind,
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
import type { DriftedProperty } from "../../webhook/provider.js";
import { type Paint, toJsonText } from "../output.js";
import { formatTable } from "../table.js";
import { describeCause, groupFailures, lineOf } from "./failures.js";

export type AnyReport = FleetReport | FleetPlan | RotationReport | DriftReport;

/** `text` is for terminals, `markdown` for the summary of a CI job, `json` for scripts. */
export type Format = "text" | "markdown" | "json";

export interface RenderOptions {
  /** Paints for where it is shown, for `text`. Default: without colours. */
  paint?: Paint;
  /** How the command line is called, in the commands that a report suggests. Default "node fleet.ts". */
  program?: string;
}

/** Formats a report: JSON has all of it; the other formats shorten long lists, and say by how much. */
export function renderReport(
  report: AnyReport,
  format: Format,
  { paint = (_style, text) => text, program = "node fleet.ts" }: RenderOptions = {},
): string {
  if (format === "json") return toJsonText(report);
  const sections = describeReport(report, { paint, program }).filter((section) => section !== "");
  const text = sections.join("\n");
  return format === "text" ? text : toMarkdown(text);
}

/** For the summary of a CI job: a block of code, in which markup, links and mentions have no effect. */
function toMarkdown(text: string): string {
  const longest = Math.max(...(text.match(/`+/g) ?? []).map((run) => run.length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text}${fence}\n`;
}

type Place = Required<RenderOptions>;

/** Lines of one section. Untrusted text cannot drive the terminal. */
const toLines = (...lines: (string | false)[]): string =>
  lines.flatMap((line) => (line === false ? [] : [`${toPlainText(line)}\n`])).join("");

const heading = (text: string, { paint }: Place): string => `${paint("bold", toPlainText(text))}\n`;

const MAX_ROWS = 100;

/** The colours of outcomes. A workspace of such a name gets them too. */
const COLOURS = { done: "green", verified: "green", stopped: "yellow", failed: "red" } as const;

interface Table {
  /** In capital letters, with spaces between the columns. */
  head: string;
  rows: readonly (readonly string[])[];
  /** The last row, which is never left out. */
  totals?: readonly string[];
  /** What the rows are, in the plural: "and 5 more failures". */
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

function describeReport(report: AnyReport, place: Place): string[] {
  if (report.action === "plan") return describePlan(report, place);
  if (report.action === "watch") return describeDrift(report, place);
  const { fleet, action, outcome, seconds } = report;
  return [
    ...(report.action === "rotate" ? describeRotation(report, place) : []),
    heading(`Fleet ${fleet}, ${action}: ${outcome} in ${duration(seconds)}`, place),
    describeStacks(report, place),
    describeFailures(report.failures, place),
    toLines(...describeEnd(report, place)),
  ];
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

/** How many webhooks get each change, and how many failed, in the order of the table. */
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

function describeEnd(report: FleetReport | RotationReport, { program }: Place): (string | false)[] {
  const { action, outcome, shard } = report;
  // An index that is not written is still the previous run's.
  const index =
    shard !== undefined &&
    ["up", "destroy"].includes(action) &&
    `Shard ${shard} leaves the index stack as it was. ` +
      `When every shard is done, run ${program} ${action} without --shard.`;
  if (outcome === "done") return [index];
  // Finished stacks need no further run; failures must be fixed first.
  const next = report.failures.length === 0 ? "To continue" : "After fixing this, continue with";
  const words = report.action === "rotate" ? `rotate --rotation ${report.rotation}` : action;
  const again = shard === undefined ? words : `${words} --shard ${shard}`;
  return [...describeStop(report), `${next}: ${program} ${again}`, index];
}

function describePlan(plan: FleetPlan, place: Place): string[] {
  const { creates, removals, index, stacks, failures } = plan;
  const { program } = place;
  const created = Object.values(creates).reduce((sum, one) => sum + one, 0);
  const isUnauthorized = failures.some(({ error }) => error?.code === "unauthorized");
  const drifts = stacks.flatMap(({ webhooks }) => webhooks.flatMap(({ drift }) => drift ?? []));
  const takenOver = drifts.filter(({ kind }) => kind === "taken-over").length;
  const keys = listKeys(plan);
  return [
    heading(`Plan of the fleet ${plan.fleet}: ${plan.outcome} in ${duration(plan.seconds)}`, place),
    describeStacks(plan, place),
    toLines(
      created > 0 && `To be created: ${describeCreates(creates)}.`,
      // Foreign registrations are only counted here; apichat webhook plan names them.
      creates.taken + creates.unknown > 0 && `To see which: ${commandLine()} webhook plan --file LIST`,
      isUnauthorized &&
        "The service rejects an API key, so up would fail. Set the current key in APICHAT_API_KEY, " +
          `or as apiKey or apiKeyEnv in the list, then: ${program} plan`,
      takenOver > 0 &&
        `${count(takenOver, "workspace")} taken over by somebody else: up fails there. Which: ${program} watch`,
      removals.length > 0 &&
        `${count(removals.length, "workspace")} left the list and would lose the webhook: ` +
          listNames(removals, MAX_NAMES),
      keys !== "" && `In addition to the webhooks: ${keys}.`,
      index === "stale" && "The index stack is stale: up writes it.",
    ),
    describeFailures(failures, place),
    toLines(...describeStop(plan)),
  ];
}

const describeCreates = ({ free, adopted, taken, unknown }: FleetPlan["creates"]): string =>
  `${free} free, ${adopted} adopted (your URL is registered), ${taken} taken by a different URL, ${unknown} unknown`;

function describeRotation(
  { fleet, rotation, outcome, waves, stacks }: RotationReport,
  place: Place,
): string[] {
  const { same, ...changed } = countChanges(stacks);
  const isUnchanged = outcome === "done" && Object.values(changed).every((number) => number === 0);
  const rows = waves.map((wave, index) => [
    String(index + 1),
    wave.outcome === "done" ? "verified" : wave.outcome,
    listNames(wave.stacks, MAX_NAMES),
  ]);
  return [
    heading(`Rotation ${rotation} of the fleet ${fleet}`, place),
    toLines(
      isUnchanged &&
        `All ${count(same, "workspace")} already had the key of this rotation. To rotate again, give another name.`,
    ),
    toTable({ head: "WAVE OUTCOME STACKS", rows, of: "waves" }, place),
  ];
}

function describeDrift(report: DriftReport, place: Place): string[] {
  const { checked, seconds, startedAt, workspaces, failures } = report;
  const when = `checked in ${duration(seconds)}, at ${startedAt}`;
  return [
    heading(`Fleet ${report.fleet}: ${OUTCOMES[report.outcome]}`, place),
    toLines(`${count(checked, "workspace")} ${when}; ${workspaces.length} with drift.`),
    toTable(
      {
        head: "WORKSPACE STACK PROPERTY EXPECTED ACTUAL REPAIR",
        rows: workspaces.flatMap((one) => rowsOf(one, place.program)),
        of: "differences",
      },
      place,
    ),
    describeFailures(failures, place),
    toLines(...describeStop(report)),
  ];
}

const OUTCOMES: Record<DriftReport["outcome"], string> = {
  "no-drift": "no drift",
  drift: "drift",
  failed: "the check failed",
};

/** How to show a difference that has no property, and what repairs it. `removal` removes somebody else's webhook. */
const wordsOf = (
  program: string,
  removal: string,
): Record<DriftKind, [expected: string, actual: string, repair: string]> => ({
  changed: ["as deployed", "changed", `${program} up --refresh`],
  gone: ["registered", "nothing is registered", `${program} up --refresh`],
  "taken-over": [
    "registered",
    "a different URL and key",
    `find out whose the other webhook is; if it may be removed: ${removal}; then ${program} up --refresh`,
  ],
  "not-deployed": ["registered", "not deployed yet", `${program} up`],
  "to-be-removed": [
    "removed: it left the list",
    "still deployed",
    `${program} up, or put the workspace back into the list`,
  ],
});

function rowsOf(drifted: DriftedWorkspace, program: string): string[][] {
  const { workspace, stack, kind, baseUrl, properties } = drifted;
  const url = properties.find(({ property }) => property === "webhookUrl");
  const removal = baseUrl && url ? removalCommand({ baseUrl, webhookUrl: formatUrl(url.actual) }) : "";
  const [expected, actual, repair] = wordsOf(program, removal)[kind];
  const cells =
    properties.length === 0
      ? [["webhook", expected, actual]]
      : kind === "taken-over" && url
        ? // Every other difference follows from it.
          [["webhook", url.expected, `${url.actual} with a different key`]]
        : properties.map(cellsOfProperty);
  return cells.map((own) => [workspace, stack, ...own, repair]);
}

const cellsOfProperty = ({ property, expected, actual }: DriftedProperty): string[] =>
  property === "webhookVerificationKey" ? [property, "[secret]", "[secret]"] : [property, expected, actual];

const MAX_NAMES = 20;
/** The most stacks next to names of workspaces. */
const MAX_STACKS = 3;

/** Which workspace failed, and why. Failures of the same cause share a row, across stacks. */
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

/** The whole line if it is the same for all, else what they have in common. */
const whyOf = ([first, ...others]: readonly FleetFailure[]): string => {
  if (first === undefined) return "";
  return others.every((one) => lineOf(one) === lineOf(first)) ? lineOf(first) : describeCause(first);
};

/** Such as "12 keys to create, 1 key to delete". */
export const listKeys = ({ stacks }: FleetPlan): string =>
  CHANGES.flatMap((change) => {
    const keys = stacks.flatMap((stack) => stack.keys.filter((key) => key.change === change));
    return keys.length > 0 ? [`${count(keys.length, "key")} to ${change}`] : [];
  }).join(", ");

/** Why a run ended early, and what it did not start. */
function describeStop({ stoppedBy, skipped }: Pick<FleetReport, "stoppedBy" | "skipped">) {
  const workspaces = skipped.reduce((sum, one) => sum + one.workspaces, 0);
  const left = `${count(skipped.length, "stack")} with ${count(workspaces, "workspace")}`;
  return [stoppedBy !== undefined && `Stopped: ${stoppedBy}.`, skipped.length > 0 && `Not started: ${left}.`];
}
