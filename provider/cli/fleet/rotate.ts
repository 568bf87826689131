import { Command } from "commander";
import type { RotateOptions } from "../../fleet/index.js";
import { parseCount } from "../option-values.js";
import { EXIT } from "../output.js";
import { runCommand, type FleetSource } from "./command.js";
import { count } from "./render.js";

export const rotateCommand = (source: FleetSource): Command =>
  runCommand<RotateOptions>(
    source,
    new Command("rotate")
      .description(
        "give every workspace a new verification key, wave by wave; each is verified before the next",
      )
      .option(
        "--rotation <name>",
        "name of the rotation (default: the first of the definition, an unfinished one, or today)",
      )
      .option("--wave-size <n>", "how many stacks a wave has, after the first of one stack", parseCount)
      .option("--yes", "do not ask"),
    {
      about: `The first wave is a single stack, the others --wave-size stacks each (default: --stacks-at-once). A wave is verified
before the next begins, and a wave that fails stops the rest. Earlier keys stay accepted meanwhile. Run it again to continue
an interrupted rotation. It asks on a terminal; without one it needs --yes.`,
      examples: ["rotate", "rotate --rotation 2026-12 --wave-size 2 --yes"],
      asks: () => true,
      work: async ({ fleet, run, confirm, print }, options) => {
        const workspaces = count(fleet.workspaces.length, "workspace");
        if (!(await confirm(`Give ${workspaces} a new key, wave by wave? (y/N) `))) return EXIT.failed;
        return print(await run((given) => fleet.rotate({ ...given, ...options })));
      },
    },
  );
