import { basename } from "node:path";
import { Command } from "commander";
import { endProcess, ENDINGS } from "../output.js";
import { reportError, useOwnFormat } from "../report-error.js";
import type { FleetSource } from "./command.js";
import { destroyCommand, refreshCommand } from "./destroy.js";
import { rotateCommand } from "./rotate.js";
import { botUrlsCommand, stacksCommand, writeCommand } from "./stacks.js";
import { planCommand, upCommand } from "./up.js";
import { watchCommand } from "./watch.js";

/** The commands of a fleet. */
export const fleetProgram = (source: FleetSource): Command =>
  new Command(source.name)
    .description("Webhooks of many workspaces, split over Pulumi stacks")
    .addHelpText("after", helpOf(source.name))
    .addCommand(planCommand(source))
    .addCommand(upCommand(source))
    .addCommand(refreshCommand(source))
    .addCommand(rotateCommand(source))
    .addCommand(watchCommand(source))
    .addCommand(botUrlsCommand(source))
    .addCommand(stacksCommand(source))
    .addCommand(writeCommand(source))
    .addCommand(destroyCommand(source));

const helpOf = (name: string): string => `
Examples:
  $ ${name} plan
  $ ${name} up
  $ ${name} watch
  $ ${name} bot-urls --env > bots.env
${ENDINGS}
watch has different exit codes: see ${name} watch --help.`;

/** Runs the command line of a fleet, and ends the process with the exit code of the command. */
export async function runFleet(open: FleetSource["open"]): Promise<void> {
  const program = fleetProgram({ name: `node ${basename(process.argv[1] ?? "fleet.ts")}`, open });
  useOwnFormat(program);
  try {
    await program.parseAsync();
  } catch (error) {
    await endProcess(reportError(error));
  }
}
