import { Command, Option } from "commander";
import { EXIT, note, print, printJson } from "../output.js";
import { formatTable } from "../table.js";
import { formatEnvironmentLines } from "./bot-url-lines.js";
import { fleetCommand, type FleetSource } from "./command.js";

export const stacksCommand = (source: FleetSource): Command =>
  fleetCommand(
    source,
    new Command("stacks")
      .description("print which stack each workspace is in; does not query the service")
      .option("--json", "print JSON"),
    {
      about:
        "The name of a workspace and the number of stacks decide. Adding or removing a workspace moves no other.",
      examples: ["stacks", "stacks --json | jq 'map({ (.stack): (.workspaces | length) })'"],
      work: async ({ open, output }) => {
        const stacks = (await open()).stacks.map(({ name, workspaces }) => ({
          stack: name,
          workspaces: workspaces.map((workspace) => workspace.name),
        }));
        if (output.json) printJson(stacks);
        else print(formatTable(["STACK", "WORKSPACE"], stacks.flatMap(rowsOf)));
        return EXIT.done;
      },
    },
  );

/** Includes a row for a stack without workspaces. */
const rowsOf = ({ stack, workspaces }: { stack: string; workspaces: string[] }): string[][] =>
  workspaces.length === 0 ? [[stack, "(none)"]] : workspaces.map((workspace) => [stack, workspace]);

export const writeCommand = (source: FleetSource): Command =>
  fleetCommand<{ stack: string; folder: string }>(
    source,
    new Command("write")
      .description("write the Pulumi project of one stack, for services that run pulumi themselves")
      .requiredOption("--stack <name>", "name of the stack, as the command stacks prints it")
      .requiredOption("--folder <folder>", "where to write Pulumi.yaml and Main.json"),
    {
      about: `For Pulumi Deployments, the Pulumi Kubernetes Operator, and pulumi on a terminal. It does what up does with this stack,
but does not write the index stack. The files contain secrets, and only you can read them: do not commit them.`,
      examples: ["write --stack production-07-of-20 --folder stack"],
      work: async ({ open }, { stack, folder }) => {
        await (await open()).write(stack, folder);
        note(`wrote the project of ${stack} to ${folder}: it contains secrets, so do not commit it`);
        return EXIT.done;
      },
    },
  );

export const botUrlsCommand = (source: FleetSource): Command =>
  fleetCommand<{ env?: boolean }>(
    source,
    new Command("bot-urls")
      .description("print the bot URLs of the fleet")
      .addOption(new Option("--env", "print lines for an environment file").conflicts("json"))
      .option("--json", "print JSON: an object by workspace"),
    {
      about: "They come from the index stack, which up writes. Before the first up there are none.",
      examples: ["bot-urls --env > bots.env", "bot-urls --json | jq -r .acme"],
      work: async ({ open, output, program }, { env }) => {
        const botUrls = await (await open()).botUrls();
        if (output.json) printJson(botUrls);
        else if (!env) print(formatTable(["WORKSPACE", "BOT URL"], Object.entries(botUrls)));
        else print(`${formatEnvironmentLines(botUrls)}\n`.trimStart());
        if (Object.keys(botUrls).length > 0) return EXIT.done;
        note(`no bot URLs yet: ${program} up writes them`);
        // None at all is a failure: a script would continue without.
        return EXIT.failed;
      },
    },
  );
