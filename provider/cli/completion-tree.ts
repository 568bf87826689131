import type { RootCommand } from "@bomb.sh/tab";
import describe from "@bomb.sh/tab/commander";
import { Command } from "commander";

/** What can be completed in the program that a command belongs to: every visible command, its options and their values. */
export function describeProgram({ parent }: Command): RootCommand {
  // The adapter adds its own two commands to what it is given, and the program has them already.
  const program = new Command(parent?.name());
  for (const option of parent?.options ?? []) program.addOption(option);
  const others = parent?.commands.filter((command) => !OWN_COMMANDS.includes(command.name())) ?? [];
  for (const command of others) program.addCommand(command);
  const root = describe(program, { completionCommandName: "completion" });
  for (const command of [root, ...root.commands.values()]) {
    for (const option of command.options.values()) option.description = firstLineOf(option.description);
  }
  return root;
}

/** What the shells get is one line for each proposal. */
const firstLineOf = (text: string): string => text.split("\n", 1).join("");

const OWN_COMMANDS = ["completion", "complete"];
