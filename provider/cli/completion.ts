import type { RootCommand } from "@bomb.sh/tab";
import { Argument, Command } from "commander";

const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;

export function completionCommand(): Command {
  return new Command("completion")
    .description("print the script that completes apichat in a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText("after", HELP)
    .action(async (shell: string, _options: object, command: Command) => {
      const name = command.parent?.name() ?? "";
      if (shell === "bash") process.stdout.write(bashScript(name));
      else (await describeProgram(command)).setup(name, name, shell);
    });
}

/** The hidden command `apichat complete -- <words...>`, which the scripts call on each Tab. */
export function completeCommand(): Command {
  return new Command("complete")
    .description("print suggestions, for the scripts of apichat completion")
    .argument("[words...]", "the words of the command line so far")
    .action(async (words: string[], _options: object, command: Command) => {
      (await describeProgram(command)).parse(words);
    });
}

/** Describes the completions of a command's program: every visible command, its options and their values. */
async function describeProgram({ parent }: Command): Promise<RootCommand> {
  // Loaded here, because it would slow down every other command.
  const { default: describe } = await import("@bomb.sh/tab/commander");
  // The adapter adds these two commands itself.
  const program = new Command(parent?.name());
  for (const option of parent?.options ?? []) program.addOption(option);
  const others = parent?.commands.filter((command) => !OWN_COMMANDS.includes(command.name())) ?? [];
  // A help without the open points must not hide them here.
  for (const command of others) program.addCommand(command.configureHelp({}));
  const root = describe(program, { completionCommandName: "completion" });
  for (const command of [root, ...root.commands.values()]) {
    for (const option of command.options.values()) option.description = firstLineOf(option.description);
  }
  return root;
}

/** Shells expect one line for each suggestion. */
const firstLineOf = (text: string): string => text.split("\n", 1).join("");

const OWN_COMMANDS = ["completion", "complete"];

const HELP = `
How to install it:
  bash       $ apichat completion bash >> ~/.bashrc
  zsh        $ apichat completion zsh > "\${fpath[1]}/_apichat"
  fish       $ apichat completion fish > ~/.config/fish/completions/apichat.fish
  powershell > apichat completion powershell >> $PROFILE
Start a new shell to use it. The script runs apichat on each Tab, so apichat must be on PATH
(npm install --global pulumi-apichat, or node_modules/.bin in PATH).

Examples:
  $ source <(apichat completion bash)
  $ apichat completion fish | source

Exit code: 0 success, 2 usage error.`;

/**
 * The script for bash. The one from @bomb.sh/tab needs the bash-completion package and evaluates the typed
 * words: `$(…)` would run on Tab. If no suggestion of ours fits, bash completes file names.
 */
const bashScript = (name: string): string => `# bash completion of ${name}
_${name}_complete() {
  local IFS=$'\\n' word="\${COMP_WORDS[COMP_CWORD]}"
  local found="$(${name} complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1 | grep -v '^:')"
  COMPREPLY=($(compgen -W "$found" -- "$word"))
}
complete -o default -F _${name}_complete ${name}
`;
