import { Command } from "commander";
import { EXIT, note } from "../output.js";
import { pickOptions, runCommand, type FleetSession } from "./command.js";
import { count } from "./document.js";
import { renderReport } from "./render.js";
import { ask, type FleetSource } from "./session.js";

export const destroyCommand = (source: FleetSource): Command =>
  runCommand(
    source,
    new Command("destroy")
      .description("remove all webhooks of the fleet, and its stacks")
      .option("--yes", "do not ask for the number of webhooks"),
    {
      about:
        "Webhooks taken over by somebody else stay unchanged. It asks you to type the number of webhooks; without a terminal, pass --yes.",
      examples: ["destroy", "destroy --yes --json"],
      isAgreed: ({ yes }) => yes,
      work: async (session, options) => {
        if (!options.yes && !(await isConfirmed(session))) {
          note("nothing was removed");
          return EXIT.failed;
        }
        const { fleet, run, print } = session;
        return print(
          await run((given) => fleet.destroy({ ...given, ...pickOptions(options) })),
          renderReport,
        );
      },
    },
  );

export const refreshCommand = (source: FleetSource): Command =>
  runCommand(
    source,
    new Command("refresh").description(
      "record in the stacks what the service shows; nothing is written to the service",
    ),
    {
      about: `Reads each webhook at the service, and records in its stack what it shows. ${source.name} up then repairs what differs.`,
      examples: ["refresh", "refresh --json"],
      work: async ({ fleet, run, print }, options) =>
        print(await run((given) => fleet.refresh({ ...given, ...pickOptions(options) })), renderReport),
    },
  );

/** Whether somebody has typed how many webhooks are removed. */
async function isConfirmed({ fleet, signal }: FleetSession): Promise<boolean> {
  const known = Object.keys(await fleet.botUrls()).length;
  // Before the index stack is written: the maximum.
  const webhooks = known > 0 ? known : fleet.workspaces.length;
  const stacks = count(fleet.stacks.length, "stack");
  const question = `Remove ${count(webhooks, "webhook")} of ${stacks}? Type ${webhooks} to continue: `;
  return (await ask(question, signal)).trim() === String(webhooks);
}
