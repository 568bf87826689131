import { basename } from "node:path";
import { Command } from "commander";
import type { RotateOptions, RunOptions } from "../../fleet/index.js";
import { parseCount } from "../option-values.js";
import { endProcess, ENDINGS, EXIT, JSON_FAILURES, note, printResult } from "../output.js";
import { reportError, useOwnFormat } from "../report-error.js";
import { formatTable } from "../table.js";
import { fleetCommand, runCommand, type FleetSource } from "./command.js";
import { count } from "./render.js";
import { planCommand, upCommand } from "./up.js";

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
  $ ${name} bot-urls --json > bots.json
${ENDINGS}
watch has different exit codes: see ${name} watch --help.`;

export async function runFleet(open: FleetSource["open"]): Promise<void> {
  const program = fleetProgram({ name: `node ${basename(process.argv[1] ?? "fleet.ts")}`, open });
  useOwnFormat(program);
  try {
    await program.parseAsync();
  } catch (error) {
    await endProcess(reportError(error));
  }
}

const rotateCommand = (source: FleetSource): Command =>
  runCommand<RotateOptions>(
    source,
    new Command("rotate")
      .description(
        "rotate every workspace's verification key, wave by wave; verify each wave before the next starts",
      )
      .option(
        "--rotation <name>",
        "name of the rotation (default: the first in the definition, else an unfinished one, else today's date)",
      )
      .option("--wave-size <n>", "number of stacks in each wave after the first", parseCount),
    {
      about: `The first wave is a single stack. Each later wave has --wave-size stacks (default:
--stacks-at-once). Each wave is verified before the next begins, and a failed wave stops the rotation.
Earlier keys are still accepted. To continue an interrupted rotation, run the command again. The command
prompts before it changes anything; without a terminal, pass --yes.`,
      examples: ["rotate", "rotate --rotation 2026-12 --wave-size 2 --yes"],
      asks: true,
      work: async ({ fleet, confirm, report }, options) => {
        const workspaces = count(fleet.workspaces.length, "workspace");
        if (!(await confirm(`Rotate the keys of ${workspaces}, wave by wave? (y/N) `))) return EXIT.failed;
        return report((given) => fleet.rotate({ ...given, ...options }));
      },
    },
  );

const watchCommand = (source: FleetSource): Command =>
  runCommand<RunOptions>(
    source,
    new Command("watch").description("check whether the service, stacks and list agree; changes nothing"),
    {
      about: `For each difference, reports the workspace, the property, both values (for keys, only that they
differ) and the command that repairs it. Workspaces that are declared but not deployed, or deployed but no
longer in the list, also count as drift.`,
      examples: ["watch", 'watch --markdown-file "$GITHUB_STEP_SUMMARY" --json > drift.json'],
      endings: `
Exit code: 0 no drift, 1 drift, 2 failure, usage or configuration error (even with drift), 130 interrupted
(Ctrl-C).
${JSON_FAILURES}`,
      // So that a job can tell drift from a failed watch.
      failed: 2,
      work: ({ fleet, report }, options) => report((given) => fleet.watch({ ...given, ...options })),
    },
  );

const destroyCommand = (source: FleetSource): Command =>
  runCommand<RunOptions>(
    source,
    new Command("destroy").description("remove all webhooks and stacks of the fleet"),
    {
      about: `Webhooks taken over by somebody else are left in place. The command asks you to type the number of
webhooks; without a terminal, pass --yes.`,
      examples: ["destroy", "destroy --yes --json"],
      asks: true,
      work: async ({ fleet, output, confirm, report }, options) => {
        // The number to type: from the index stack, or else from the list. With --yes, nothing is typed.
        const deployed = output.yes ? [] : Object.keys(await fleet.botUrls());
        const number = deployed.length || fleet.workspaces.length;
        const what = `${count(number, "webhook")} of ${count(fleet.stacks.length, "stack")}`;
        const question = `Remove ${what}? Type ${number} to continue: `;
        if (!(await confirm(question, new RegExp(`^${number}$`)))) return EXIT.failed;
        return report((given) => fleet.destroy({ ...given, ...options }));
      },
    },
  );

const refreshCommand = (source: FleetSource): Command =>
  runCommand<RunOptions>(
    source,
    new Command("refresh").description(
      "record in the stacks what the service returns; writes nothing to the service",
    ),
    {
      about: `Reads each webhook from the service, and records the result in its stack. ${source.name} up
then repairs what differs.`,
      examples: ["refresh", "refresh --json"],
      work: ({ fleet, report }, options) => report((given) => fleet.refresh({ ...given, ...options })),
    },
  );

const stacksCommand = (source: FleetSource): Command =>
  fleetCommand(
    source,
    new Command("stacks")
      .description("print which stack each workspace is in; does not query the service")
      .option("--json", "print JSON"),
    {
      about: `A workspace's stack depends only on the workspace's name and the number of stacks. Adding or removing a
workspace does not move the others.`,
      examples: ["stacks", "stacks --json | jq 'map({ (.stack): (.workspaces | length) })'"],
      work: async ({ fleet, output }) => {
        const stacks = fleet.stacks.map(({ name, workspaces }) => ({
          stack: name,
          workspaces: workspaces.map((workspace) => workspace.name),
        }));
        const rows = stacks.flatMap(({ stack, workspaces }) =>
          (workspaces.length === 0 ? ["(none)"] : workspaces).map((workspace) => [stack, workspace]),
        );
        printResult(output, stacks, () => formatTable(["STACK", "WORKSPACE"], rows));
        return EXIT.done;
      },
    },
  );

const writeCommand = (source: FleetSource): Command =>
  fleetCommand<{ stack: string; folder: string }>(
    source,
    new Command("write")
      .description("write the Pulumi project of one stack, for services that run pulumi themselves")
      .requiredOption("--stack <name>", "name of the stack, as printed by the stacks command")
      .requiredOption("--folder <folder>", "where to write Pulumi.yaml and Main.json"),
    {
      about: `For use with Pulumi Deployments, the Pulumi Kubernetes Operator, or pulumi itself. The project does what
up does for this stack, but does not write the index stack. The files contain secrets, and only you can read
them: do not commit them.`,
      examples: ["write --stack production-07-of-20 --folder stack"],
      work: async ({ fleet }, { stack, folder }) => {
        await fleet.write(stack, folder);
        note(`wrote the project of ${stack} to ${folder}: it contains secrets, so do not commit it`);
        return EXIT.done;
      },
    },
  );

const botUrlsCommand = (source: FleetSource): Command =>
  fleetCommand(
    source,
    new Command("bot-urls")
      .description("print the bot URLs of the fleet")
      .option("--json", "print a JSON object, keyed by workspace"),
    {
      about: "The bot URLs come from the index stack, which up writes. Before the first up, there are none.",
      examples: ["bot-urls", "bot-urls --json | jq -r .acme"],
      work: async ({ fleet, output, program }) => {
        const botUrls = await fleet.botUrls();
        printResult(output, botUrls, () => formatTable(["WORKSPACE", "BOT URL"], Object.entries(botUrls)));
        if (Object.keys(botUrls).length > 0) return EXIT.done;
        note(`no bot URLs yet: ${program} up writes them`);
        // A failure, because a script would otherwise continue without bot URLs.
        return EXIT.failed;
      },
    },
  );
