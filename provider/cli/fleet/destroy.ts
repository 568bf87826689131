import { Command } from "commander";
import type { Fleet, RunOptions } from "../../fleet/index.js";
import { EXIT } from "../output.js";
import { runCommand, type FleetSource } from "./command.js";
import { count } from "./render.js";

export const destroyCommand = (source: FleetSource): Command =>
  runCommand<RunOptions>(
    source,
    new Command("destroy")
      .description("remove all webhooks of the fleet, and its stacks")
      .option("--yes", "do not ask for the number of webhooks"),
    {
      about:
        "Webhooks taken over by somebody else are left in place. It asks you to type the number of webhooks; without a terminal, pass --yes.",
      examples: ["destroy", "destroy --yes --json"],
      asks: () => true,
      work: async ({ fleet, output, run, confirm, print }, options) => {
        // With --yes it does not depend on what the index stack says.
        const number = output.yes ? 0 : await countWebhooks(fleet);
        const what = `${count(number, "webhook")} of ${count(fleet.stacks.length, "stack")}`;
        const question = `Remove ${what}? Type ${number} to continue: `;
        if (!(await confirm(question, new RegExp(`^${number}$`)))) return EXIT.failed;
        return print(await run((given) => fleet.destroy({ ...given, ...options })));
      },
    },
  );

export const refreshCommand = (source: FleetSource): Command =>
  runCommand<RunOptions>(
    source,
    new Command("refresh").description(
      "record in the stacks what the service shows; nothing is written to the service",
    ),
    {
      about: `Reads each webhook from the service, and records the result in its stack. ${source.name} up then repairs what differs.`,
      examples: ["refresh", "refresh --json"],
      work: async ({ fleet, run, print }, options) =>
        print(await run((given) => fleet.refresh({ ...given, ...options }))),
    },
  );

/** Before the index stack is written, the number of webhooks is the maximum. */
async function countWebhooks(fleet: Fleet): Promise<number> {
  return Object.keys(await fleet.botUrls()).length || fleet.workspaces.length;
}
