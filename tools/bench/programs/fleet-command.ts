/** One command with a fleet, in a process of its own as a user's is: `fleet-command.ts up|refresh|bot-urls <definition> <result>`. */
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { openFleet, type Fleet, type FleetDefinition, type FleetEvent } from "pulumi-apichat/fleet";
import { abortOnSignals } from "../../setup/run.mjs";

const [command = "", definitionFile = "", resultFile = ""] = process.argv.slice(2);
const signal = abortOnSignals();

function runCommand(fleet: Fleet): Promise<unknown> {
  if (command === "bot-urls") return fleet.botUrls();
  if (command !== "up" && command !== "refresh") throw new Error(`${command}: not a command`);
  let ended = 0;
  const onEvent = (event: FleetEvent): void => {
    if (event.type === "stack-ended") console.log(`${(ended += 1)} of ${fleet.stacks.length} stacks`);
  };
  return fleet[command]({ signal, onEvent });
}

const fleet = await openFleet(JSON.parse(await readFile(definitionFile, "utf8")) as FleetDefinition);
try {
  await writeFile(resultFile, JSON.stringify(await runCommand(fleet)));
} finally {
  await fleet.close();
}
