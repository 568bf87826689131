import process from "node:process";
import { fileURLToPath } from "node:url";
import { run } from "../../setup/run.mjs";
import { compare, difference, timeOf, type Row, type RowContext } from "../measure.ts";

const repository = fileURLToPath(new URL("../../..", import.meta.url));

const timeNode = ({ signal }: RowContext, ...args: string[]): Promise<number> =>
  timeOf(() => run(process.execPath, args, { cwd: repository, env: process.env, signal }));

/** How long a person waits for the command line to print anything. */
export const commandLineRow: Row = {
  name: "command-line",
  title: "Starting apichat --help, 30 processes on each side: about 20 seconds",
  measure: async (context) => [
    await compare(
      context,
      {
        what: "apichat --help",
        against: "node -e 0",
        unit: "ms",
        target: { atMost: 80 },
        combine: difference,
      },
      {
        ours: () => timeNode(context, "dist/provider/cli/main.js", "--help"),
        bare: () => timeNode(context, "-e", "0"),
        rounds: 30,
        warmUpRounds: 2,
      },
    ),
  ],
};

/** What a program pays for importing this package beside the SDK. */
export const loadingRow: Row = {
  name: "loading",
  title: "Loading pulumi-apichat, 20 processes on each side: about 40 seconds",
  measure: async (context) => [
    await compare(
      context,
      {
        what: "loading pulumi-apichat in a program",
        against: "loading @pulumi/pulumi alone",
        unit: "ms",
        target: { atMost: 20 },
        combine: difference,
      },
      {
        ours: () => timeNode(context, "-e", 'require("@pulumi/pulumi");require("pulumi-apichat")'),
        bare: () => timeNode(context, "-e", 'require("@pulumi/pulumi")'),
        rounds: 20,
        warmUpRounds: 1,
      },
    ),
  ],
};
