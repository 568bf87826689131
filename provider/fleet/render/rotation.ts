import type { RotationReport } from "../rotation.js";
import { code, heading, line, tableOf, type Block } from "./document.js";
import { renderAs, type Format, type RenderOptions } from "./render.js";
import { describeReport } from "./report.js";
import { cutNames, listNames } from "./wording.js";

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
