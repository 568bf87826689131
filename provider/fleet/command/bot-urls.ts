import { EXIT, note, print, printJson } from "../../cli/output.js";
import { formatTable } from "../../cli/table.js";
import type { BotUrlsCommandOptions } from "./options.js";
import type { Session } from "./run-on-fleet.js";

/**
 * Prints the bot URLs of the index stack. None at all is a failure: a script would go on
 * without. Gives the exit code.
 */
export async function printBotUrls(session: Session, options: BotUrlsCommandOptions): Promise<number> {
  const botUrls = await session.fleet.botUrls();
  const rows = Object.entries(botUrls);
  if (rows.length === 0) note(`no bot URLs yet: ${session.program} up writes them`);
  if (options.json) printJson(botUrls);
  else if (options.env) await printLines(botUrls);
  else print(formatTable(["WORKSPACE", "BOT URL"], rows));
  return rows.length === 0 ? EXIT.failed : EXIT.done;
}

async function printLines(botUrls: Readonly<Record<string, string>>): Promise<void> {
  const { formatEnvironmentLines } = await import("../bot-url-lines.js");
  const lines = formatEnvironmentLines(botUrls);
  if (lines !== "") print(`${lines}\n`);
}
