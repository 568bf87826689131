import { Command, Option } from "commander";
import type { Fleet } from "../fleet.js";
import { DEFAULT_MOST_REMOVALS } from "../limits.js";
import { checkFolders } from "./deliver.js";
import * as help from "./help.js";
import {
  addFileOptions,
  addLimitOptions,
  parseCount,
  parseCountOrNone,
  type BotUrlsCommandOptions,
  type DestroyCommandOptions,
  type PlanCommandOptions,
  type RotateCommandOptions,
  type RunCommandOptions,
  type UpCommandOptions,
} from "./options.js";
import { requireConsent } from "./question.js";
import { runOnFleet } from "./run-on-fleet.js";

/** Whose command line it is. */
export interface FleetSource {
  /** How the command line is called, such as `node fleet.ts`. */
  name: string;
  /** Opens the fleet; only commands that need one call it. */
  open: () => Promise<Fleet>;
}

/** The commands of a fleet. What each of them does is loaded only when it runs. */
export const fleetProgram = (source: FleetSource): Command =>
  new Command(source.name)
    .description("Webhooks of many workspaces, split over Pulumi stacks")
    .addHelpText("after", help.ofProgram(source.name))
    .addCommand(planCommand(source))
    .addCommand(upCommand(source))
    .addCommand(refreshCommand(source))
    .addCommand(rotateCommand(source))
    .addCommand(watchCommand(source))
    .addCommand(botUrlsCommand(source))
    .addCommand(stacksCommand(source))
    .addCommand(destroyCommand(source));

const JSON_FLAG = ["--json", "print the report as JSON"] as const;
const YES_FLAG = ["--yes", "do not ask"] as const;
const MOST_REMOVALS_FLAG = [
  "--most-removals <n>",
  `how many workspaces that left the list may be removed (default ${DEFAULT_MOST_REMOVALS})`,
  parseCountOrNone,
] as const;

const planCommand = (source: FleetSource): Command =>
  addFileOptions(addLimitOptions(new Command("plan")))
    .description("tell what each stack would do, and what is registered where a webhook would be created")
    .option("--refresh", "look at the service first, so that drift shows too")
    .option(...MOST_REMOVALS_FLAG)
    .option(...JSON_FLAG)
    .addHelpText("after", help.ofPlan(source.name))
    .action((options: PlanCommandOptions) =>
      runOnFleet(source, {
        check: () => checkFolders(options),
        work: async (session) => (await import("./plan.js")).planOnFleet(session, options),
      }),
    );

const upCommand = (source: FleetSource): Command =>
  addFileOptions(addLimitOptions(new Command("up")))
    .description("plan, ask, and bring every stack to what the list says")
    .option("--refresh", "look at the service first, so that drift is repaired too")
    .option("--resume", "go on with a run that did not end: no plan, no question")
    .option("--skip-plan", "ask without a plan")
    .option(...YES_FLAG)
    .option(...MOST_REMOVALS_FLAG)
    .option(...JSON_FLAG)
    .addHelpText("after", help.ofUp(source.name))
    .action((options: UpCommandOptions) =>
      runOnFleet(source, {
        check: async () => {
          requireConsent("up", options.resume ?? options.yes);
          await checkFolders(options);
        },
        work: async (session) => (await import("./up.js")).upOnFleet(session, options),
      }),
    );

const refreshCommand = (source: FleetSource): Command =>
  addFileOptions(addLimitOptions(new Command("refresh")))
    .description("record in the stacks what the service shows; nothing is written to the service")
    .option(...JSON_FLAG)
    .addHelpText("after", help.ofRefresh(source.name))
    .action((options: RunCommandOptions) =>
      runOnFleet(source, {
        check: () => checkFolders(options),
        work: async (session) => (await import("./refresh.js")).refreshOnFleet(session, options),
      }),
    );

const rotateCommand = (source: FleetSource): Command =>
  addFileOptions(addLimitOptions(new Command("rotate")))
    .description(
      "give every workspace a new verification key, wave by wave; each is verified before the next",
    )
    .option("--rotation <name>", 'name of the rotation (default: today, such as "2026-11-21")')
    .option("--wave-size <n>", "how many stacks a wave has, after the first of one stack", parseCount)
    .option("--resume", "go on with a rotation that did not end, without a question")
    .option(...YES_FLAG)
    .option(...JSON_FLAG)
    .addHelpText("after", help.ofRotate(source.name))
    .action((options: RotateCommandOptions) =>
      runOnFleet(source, {
        check: async () => {
          requireConsent("rotate", options.resume ?? options.yes);
          await checkFolders(options);
        },
        work: async (session) => (await import("./rotate.js")).rotateOnFleet(session, options),
      }),
    );

const watchCommand = (source: FleetSource): Command =>
  addFileOptions(addLimitOptions(new Command("watch")))
    .description("look whether service, stacks and list agree; changes nothing")
    .addOption(new Option("--markdown", "print Markdown in place of tables").conflicts("json"))
    .option(...JSON_FLAG)
    .addHelpText("after", help.ofWatch(source.name))
    .action((options: RunCommandOptions) =>
      runOnFleet(source, {
        check: () => checkFolders(options),
        work: async (session) => (await import("./watch.js")).watchOnFleet(session, options),
        failed: help.WATCH_EXIT.failed,
      }),
    );

const botUrlsCommand = (source: FleetSource): Command =>
  new Command("bot-urls")
    .description("print the bot URLs of the fleet")
    .addOption(new Option("--env", "print lines for an environment file").conflicts("json"))
    .option("--json", "print JSON: an object by workspace")
    .addHelpText("after", help.ofBotUrls(source.name))
    .action((options: BotUrlsCommandOptions) =>
      runOnFleet(source, {
        work: async (session) => (await import("./bot-urls.js")).printBotUrls(session, options),
      }),
    );

const stacksCommand = (source: FleetSource): Command =>
  new Command("stacks")
    .description("print which stack holds which workspace; asks neither the service nor the backend")
    .option("--json", "print JSON")
    .addHelpText("after", help.ofStacks(source.name))
    .action((options: { json?: boolean }) =>
      runOnFleet(source, {
        work: async (session) => (await import("./stacks.js")).printStacks(session, options),
      }),
    );

const destroyCommand = (source: FleetSource): Command =>
  addFileOptions(addLimitOptions(new Command("destroy")))
    .description("remove all webhooks of the fleet, and its stacks")
    .option("--yes", "do not ask for the number of webhooks")
    .option(...JSON_FLAG)
    .addHelpText("after", help.ofDestroy(source.name))
    .action((options: DestroyCommandOptions) =>
      runOnFleet(source, {
        check: async () => {
          requireConsent("destroy", options.yes);
          await checkFolders(options);
        },
        work: async (session) => (await import("./destroy.js")).destroyOnFleet(session, options),
      }),
    );
