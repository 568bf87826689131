import { Command } from "commander";
import { DEFAULT_LIMITS } from "../../fleet/options.js";
import { splitIntoWaves } from "../../fleet/placement.js";
import { EXIT, note } from "../output.js";
import { parseCount, pickOptions, runCommand, type RunCommandOptions, type FleetSession } from "./command.js";
import { count } from "./document.js";
import { renderRotation } from "./render.js";
import { isAgreed, type FleetSource } from "./session.js";

interface RotateCommandOptions extends RunCommandOptions {
  rotation?: string;
  waveSize?: number;
}

export const rotateCommand = (source: FleetSource): Command =>
  runCommand<RotateCommandOptions>(
    source,
    new Command("rotate")
      .description(
        "give every workspace a new verification key, wave by wave; each is verified before the next",
      )
      .option("--rotation <name>", "name of the rotation (default: the first of the definition, or today)")
      .option("--wave-size <n>", "how many stacks a wave has, after the first of one stack", parseCount)
      .option("--yes", "do not ask"),
    {
      about: `The first wave is one stack alone, the others --wave-size stacks each (default: --stacks-at-once). A wave is verified before
the next begins, and a wave that fails stops the rest. Earlier keys stay accepted meanwhile. An interrupted rotation continues
when it is run again. It asks on a terminal; without one it needs --yes.`,
      examples: ["rotate", "rotate --rotation 2026-12 --wave-size 2 --yes"],
      isAgreed: ({ yes }) => yes,
      work: async (session, options) => {
        const { fleet, signal, run, print } = session;
        if (!options.yes && !(await isAgreed(questionOf(session, options), signal))) {
          note("nothing was rotated");
          return EXIT.failed;
        }
        const own = pickOptions(options, "rotation", "waveSize");
        return print(await run((given) => fleet.rotate({ ...given, ...own })), renderRotation);
      },
    },
  );

function questionOf({ fleet }: FleetSession, options: RotateCommandOptions): string {
  const stacks = fleet.stacks.filter(({ workspaces }) => workspaces.length > 0);
  const { stacksAtOnce = DEFAULT_LIMITS.stacksAtOnce, waveSize = stacksAtOnce } = options;
  const waves = splitIntoWaves(stacks, waveSize).length;
  return `Give ${count(fleet.workspaces.length, "workspace")} in ${count(stacks.length, "stack")} a new key, in ${count(waves, "wave")}?`;
}
