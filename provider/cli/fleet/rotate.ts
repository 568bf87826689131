import { Command } from "commander";
import { DEFAULT_LIMITS } from "../../fleet/options.js";
import { ENDINGS, EXIT, note } from "../output.js";
import { count } from "./document.js";
import {
  addRunOptions,
  checkBeforeAsking,
  isAgreed,
  parseCount,
  pickOptions,
  printReport,
  runOnFleet,
  STOPPING,
  type FleetSource,
  type RunCommandOptions,
  type Session,
} from "./session.js";

interface RotateCommandOptions extends RunCommandOptions {
  rotation?: string;
  waveSize?: number;
}

export const rotateCommand = (source: FleetSource): Command =>
  addRunOptions(new Command("rotate"))
    .description(
      "give every workspace a new verification key, wave by wave; each is verified before the next",
    )
    .option("--rotation <name>", "name of the rotation (default: the first of the definition, or today)")
    .option("--wave-size <n>", "how many stacks a wave has, after the first of one stack", parseCount)
    .option("--yes", "do not ask")
    .addHelpText("after", helpOf(source.name))
    .action((options: RotateCommandOptions) =>
      runOnFleet(source, {
        check: () => checkBeforeAsking("rotate", options, options.yes),
        work: (session) => rotateOnFleet(session, options),
      }),
    );

async function rotateOnFleet(session: Session, options: RotateCommandOptions): Promise<number> {
  if (!options.yes && !(await isAgreed(await questionOf(session, options), session.signal))) {
    note("nothing was rotated");
    return EXIT.failed;
  }
  const given = pickOptions(options, "rotation", "waveSize");
  const report = await session.run((run) => session.fleet.rotate({ ...run, ...given }));
  await printReport(report, (await import("./render.js")).renderRotation, { options, session });
  return report.outcome === "done" ? EXIT.done : EXIT.failed;
}

async function questionOf({ fleet }: Session, options: RotateCommandOptions): Promise<string> {
  const { splitIntoWaves } = await import("../../fleet/rotate.js");
  const stacks = fleet.stacks.filter(({ workspaces }) => workspaces.length > 0);
  const { stacksAtOnce = DEFAULT_LIMITS.stacksAtOnce, waveSize = stacksAtOnce } = options;
  const waves = splitIntoWaves(stacks, waveSize).length;
  return `Give ${count(fleet.workspaces.length, "workspace")} in ${count(stacks.length, "stack")} a new key, in ${count(waves, "wave")}?`;
}

const helpOf = (name: string): string => `
The first wave is one stack alone, the others --wave-size stacks each (default: --stacks-at-once). A wave is verified before
the next begins, and a wave that fails stops the rest. Earlier keys stay accepted meanwhile. An interrupted rotation goes on
when it is run again. It asks on a terminal; without one it needs --yes.
${STOPPING}

Examples:
  $ ${name} rotate
  $ ${name} rotate --rotation 2026-12 --wave-size 2 --yes
${ENDINGS}`;
