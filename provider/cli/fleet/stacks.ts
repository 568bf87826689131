import { Command, Option } from "commander";
import { ENDINGS, EXIT, note, print, printJson } from "../output.js";
import { formatTable } from "../table.js";
import { parseCount, runOnFleet, type FleetSource } from "./session.js";

export const stacksCommand = (source: FleetSource): Command =>
  new Command("stacks")
    .description("print which stack holds which workspace; asks the service nothing")
    .option("--json", "print JSON")
    .option("--matrix <n>", "print the shares of n machines: the matrix of GitHub Actions", parseCount)
    .addHelpText("after", helpOfStacks(source.name))
    .action(({ json, matrix }: { json?: boolean; matrix?: number }) =>
      runOnFleet(source, {
        work: async ({ fleet }) => {
          const stacks = fleet.stacks.map(({ name, workspaces }) => ({
            stack: name,
            workspaces: workspaces.map((workspace) => workspace.name),
          }));
          if (matrix !== undefined) printMatrix(Math.min(matrix, stacks.length));
          else if (json) printJson(stacks);
          else print(formatTable(["STACK", "WORKSPACE"], stacks.flatMap(rowsOf)));
          return EXIT.done;
        },
      }),
    );

/** One line, as a job's output takes it. */
function printMatrix(shares: number): void {
  const shard = Array.from({ length: shares }, (_, index) => `${index + 1}/${shares}`);
  print(`${JSON.stringify({ shard })}\n`);
}

/** A stack without workspaces has a row too. */
const rowsOf = ({ stack, workspaces }: { stack: string; workspaces: string[] }): string[][] =>
  workspaces.length === 0 ? [[stack, "(none)"]] : workspaces.map((workspace) => [stack, workspace]);

export const botUrlsCommand = (source: FleetSource): Command =>
  new Command("bot-urls")
    .description("print the bot URLs of the fleet")
    .addOption(new Option("--env", "print lines for an environment file").conflicts("json"))
    .option("--json", "print JSON: an object by workspace")
    .addHelpText("after", helpOfBotUrls(source.name))
    .action((options: { env?: boolean; json?: boolean }) =>
      runOnFleet(source, {
        work: async ({ fleet, program }) => {
          const botUrls = await fleet.botUrls();
          await printBotUrls(botUrls, options);
          const count = Object.keys(botUrls).length;
          if (count === 0) note(`no bot URLs yet: ${program} up writes them`);
          // None at all is a failure: a script would continue without.
          return count === 0 ? EXIT.failed : EXIT.done;
        },
      }),
    );

async function printBotUrls(
  botUrls: Readonly<Record<string, string>>,
  { env, json }: { env?: boolean; json?: boolean },
): Promise<void> {
  if (json) return printJson(botUrls);
  if (!env) return print(formatTable(["WORKSPACE", "BOT URL"], Object.entries(botUrls)));
  const { formatEnvironmentLines } = await import("./bot-url-lines.js");
  const lines = formatEnvironmentLines(botUrls);
  if (lines !== "") print(`${lines}\n`);
}

const helpOfStacks = (name: string): string => `
The name of a workspace and the number of stacks decide. A workspace that comes or goes moves no other.

Examples:
  $ ${name} stacks
  $ ${name} stacks --json | jq 'map({ (.stack): (.workspaces | length) })'
  $ ${name} stacks --matrix 4
${ENDINGS}`;

const helpOfBotUrls = (name: string): string => `
They are those of the index stack, which up writes. Before the first up there are none.

Examples:
  $ ${name} bot-urls --env > bots.env
  $ ${name} bot-urls --json | jq -r .acme
${ENDINGS}`;
