import { EXIT, note } from "../../cli/output.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { renderRotation } from "../render/rotation.js";
import { count } from "../render/wording.js";
import { splitIntoWaves } from "../rotation/waves.js";
import { deliver } from "./deliver.js";
import { given, limitsOf, type RotateCommandOptions } from "./options.js";
import { isAgreed } from "./question.js";
import type { Session } from "./run-on-fleet.js";

/** Asks, and rotates the keys. A rotation that is resumed was agreed to before. Gives the exit code. */
export async function rotateOnFleet(session: Session, options: RotateCommandOptions): Promise<number> {
  const isGiven = options.resume ?? options.yes ?? false;
  if (!isGiven && !(await isAgreed(questionOf(session, options), session.signal))) {
    note("nothing was rotated");
    return EXIT.failed;
  }
  const { rotation, waveSize, resume } = options;
  const report = await session.run((run) =>
    session.fleet.rotate({ ...run, ...limitsOf(options), ...given({ rotation, waveSize, resume }) }),
  );
  await deliver(report, renderRotation, { options, session });
  return report.outcome === "done" ? EXIT.done : EXIT.failed;
}

function questionOf({ fleet }: Session, options: RotateCommandOptions): string {
  const places = fleet.stacks.filter(({ workspaces }) => workspaces.length > 0);
  const { stacksAtOnce = DEFAULT_LIMITS.stacksAtOnce, waveSize = stacksAtOnce } = options;
  const waves = splitIntoWaves(places, { waveSize, isBegun: false }).length;
  const whose = `${count(fleet.workspaces.length, "workspace")} of ${count(places.length, "stack")}`;
  return `Rotate the keys of ${whose} in ${count(waves, "wave")}?`;
}
