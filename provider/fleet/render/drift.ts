import type { DriftedProperty } from "../reports.js";
import type { DriftedResource, DriftedWorkspace, DriftReport } from "../watch.js";
import { code, heading, line, tableOf, type Block, type Piece } from "./document.js";
import { renderAs, type Format, type RenderOptions } from "./render.js";
import { count, describeCalls, describeFailures, describeStop, duration } from "./wording.js";

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
    describeCalls(report.calls, report.answers429),
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
    : properties.map(cellsOf);
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

const cellsOf = ({ property, expected, actual }: DriftedProperty): Piece[] =>
  property === "webhookVerificationKey"
    ? [code(property), "[secret]", "[secret]"]
    : [code(property), code(expected), code(actual)];
