import { Command } from "commander";
import { ENDINGS, EXIT, note } from "../output.js";
import { count } from "./document.js";
import {
  addRunOptions,
  ask,
  checkBeforeAsking,
  checkFolders,
  pickOptions,
  printReport,
  runOnFleet,
  STOPPING,
  type FleetSource,
  type RunCommandOptions,
  type Session,
} from "./session.js";

export const destroyCommand = (source: FleetSource): Command =>
  addRunOptions(new Command("destroy"))
    .description("remove all webhooks of the fleet, and its stacks")
    .option("--yes", "do not ask for the number of webhooks")
    .addHelpText("after", helpOfDestroy(source.name))
    .action((options: RunCommandOptions) =>
      runOnFleet(source, {
        check: () => checkBeforeAsking("destroy", options, options.yes),
        work: async (session) => {
          if (!options.yes && !(await isConfirmed(session))) {
            note("nothing was removed");
            return EXIT.failed;
          }
          return runAndPrint(session, "destroy", options);
        },
      }),
    );

export const refreshCommand = (source: FleetSource): Command =>
  addRunOptions(new Command("refresh"))
    .description("record in the stacks what the service shows; nothing is written to the service")
    .addHelpText("after", helpOfRefresh(source.name))
    .action((options: RunCommandOptions) =>
      runOnFleet(source, {
        check: () => checkFolders(options),
        work: (session) => runAndPrint(session, "refresh", options),
      }),
    );

async function runAndPrint(
  session: Session,
  action: "destroy" | "refresh",
  options: RunCommandOptions,
): Promise<number> {
  const report = await session.run((run) => session.fleet[action]({ ...run, ...pickOptions(options) }));
  await printReport(report, (await import("./render.js")).renderReport, { options, session });
  return report.outcome === "done" ? EXIT.done : EXIT.failed;
}

/** Whether somebody has typed how many webhooks are removed. */
async function isConfirmed({ fleet, signal }: Session): Promise<boolean> {
  const known = Object.keys(await fleet.botUrls()).length;
  // Before the index stack is written, as many as there can be.
  const webhooks = known > 0 ? known : fleet.workspaces.length;
  const stacks = count(fleet.stacks.length, "stack");
  const question = `Remove ${count(webhooks, "webhook")} of ${stacks}? Type ${webhooks} to continue: `;
  return (await ask(question, signal)).trim() === String(webhooks);
}

const helpOfDestroy = (name: string): string => `
Webhooks that somebody else has taken over stay. It asks for the number of webhooks; without a terminal it needs --yes.
${STOPPING}

Examples:
  $ ${name} destroy
  $ ${name} destroy --yes --json
${ENDINGS}`;

const helpOfRefresh = (name: string): string => `
Reads each webhook at the service, and records in its stack what it shows. ${name} up then repairs what differs.
${STOPPING}

Examples:
  $ ${name} refresh
  $ ${name} refresh --json
${ENDINGS}`;
