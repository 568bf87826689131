import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import type { Fleet, RunOptions } from "../../fleet/index.js";
import { orAborted } from "../../lib/abort.js";
import { confirm, requireTerminal } from "../confirm.js";
import { parseCount } from "../option-values.js";
import { ENDINGS, EXIT, note, paint, printResult } from "../output.js";
import { FleetProgress } from "./progress.js";
import { renderReport, toMarkdown, type AnyReport } from "./render.js";
import { runToEnd } from "./session.js";

interface OutputOptions {
  json?: boolean | undefined;
  markdownFile?: string | undefined;
  yes?: boolean | undefined;
}

/** The fleet that a command line works on. */
export interface FleetSource {
  /** What a user types to run the program, such as `node fleet.ts`. */
  name: string;
  /** Reads the definition, the list (which may need environment variables) and the backend. */
  open: () => Promise<Fleet>;
}

export type Session = ReturnType<typeof createSession>;

interface CommandSpec<Options> {
  /** The help text before the examples. */
  about: string;
  /** Command lines, without the name of the program. */
  examples: readonly string[];
  /** The end of the help text. Default: the exit codes of most commands. */
  endings?: string;
  /** Whether the command prompts before it changes anything, and therefore needs a terminal or `--yes`. */
  asks?: boolean;
  /** Returns the exit code. Receives the command's own options, without `--yes` and those for output. */
  work: (session: Session, options: Options) => Promise<number>;
  /** The exit code of a failure. Default 1. */
  failed?: number;
}

export function fleetCommand<Options>(
  source: FleetSource,
  command: Command,
  { about, examples, endings = ENDINGS, asks, work, failed = EXIT.failed }: CommandSpec<Options>,
): Command {
  const lines = examples.map((example) => `  $ ${source.name} ${example}\n`).join("");
  if (asks) command.option("--yes", "do not prompt");
  return command.addHelpText("after", `\n${about}\n\nExamples:\n${lines}${endings}`).action(() => {
    const { json, markdownFile, yes, ...options } = command.opts<OutputOptions>();
    return runToEnd(failed, async (signal) => {
      if (!yes && asks) requireTerminal(command.name());
      const fleet = await orAborted(source.open(), signal);
      const session = createSession(fleet, source.name, { json, markdownFile, yes }, signal, failed);
      return work(session, options as Options);
    });
  });
}

const explainStopping = (): void =>
  note(
    "stopping: the engine is finishing its current steps; press Ctrl-C again to stop at once (this may leave a lock)",
  );

function createSession(
  fleet: Fleet,
  program: string,
  output: OutputOptions,
  signal: AbortSignal,
  failed: number,
) {
  type Start<Report> = (options: Pick<RunOptions, "signal" | "onEvent">) => Promise<Report>;
  /** Runs the fleet, and shows its progress on stderr. */
  const run = async <Report>(start: Start<Report>): Promise<Report> => {
    const progress = new FleetProgress(signal);
    signal.addEventListener("abort", explainStopping);
    return start({ signal, onEvent: (event) => progress.take(event) }).finally(() =>
      signal.removeEventListener("abort", explainStopping),
    );
  };
  /** Prints a report in the formats that the options select. Returns the exit code. */
  const print = async (report: AnyReport): Promise<number> => {
    printResult(output, report, () => renderReport(report, program, paint));
    if (output.markdownFile) await writeFile(output.markdownFile, toMarkdown(renderReport(report, program)));
    if (report.outcome === "failed") return failed;
    return ["done", "no-drift"].includes(report.outcome) ? EXIT.done : EXIT.failed;
  };
  return {
    fleet,
    program,
    output,
    signal,
    run,
    print,
    report: async (start: Start<AnyReport>): Promise<number> => print(await run(start)),
    /** Prompts, unless `--yes` was given: see {@link confirm}. */
    confirm: (question: string, agreed?: RegExp): Promise<boolean> =>
      confirm(question, { yes: output.yes, agreed, otherwise: "nothing was changed", signal }),
  };
}

const STOPPING = `
After Ctrl-C, the engine finishes and stores its current steps, and the command prints its summary. A second Ctrl-C
stops the command at once. SIGTERM and SIGHUP act like a first Ctrl-C. Progress is on stderr, the result on stdout.`;

/** A command that runs stacks. */
export function runCommand<Options>(
  source: FleetSource,
  command: Command,
  spec: CommandSpec<Options>,
): Command {
  command
    .option("--stacks-at-once <n>", "how many stacks run at once (default: one per core, 2 to 8)", parseCount)
    .option(
      "--calls-per-origin <n>",
      "how many calls to one origin may run at once, from all running stacks together (default 32)",
      parseCount,
    )
    .option(
      "--stop-after-failures <n>",
      "start no more stacks after this many failures (default 10)",
      parseCount,
    )
    .option("--shard <k/n>", "run one shard of the stacks, such as 2/4; run the others on other machines")
    .option("--json", "print the report as JSON")
    .option("--markdown-file <file>", "also write the report as Markdown, for the summary of a CI job");
  return fleetCommand<Options>(source, command, { ...spec, about: spec.about + STOPPING });
}
