import process from "node:process";
import { fileURLToPath } from "node:url";
import { run } from "../../setup/run.mjs";
import { compare, difference, timeOf, type Row } from "../measure.ts";

const repository = fileURLToPath(new URL("../../..", import.meta.url));

interface NodeRow {
  name: string;
  title: string;
  what: string;
  against: string;
  /** Arguments of Node on either side. */
  ours: string[];
  bare: string[];
  atMostMs: number;
  rounds: number;
}

/** How long a person waits for the command line to print anything, and what a program pays for importing this package. */
export const processRows = [
  rowOf({
    name: "command-line",
    title: "Starting apichat --help, 30 processes on each side: about 20 seconds",
    what: "apichat --help",
    against: "node -e 0",
    ours: ["dist/provider/cli/main.js", "--help"],
    bare: ["-e", "0"],
    atMostMs: 80,
    rounds: 30,
  }),
  rowOf({
    name: "loading",
    title: "Loading pulumi-apichat, 20 processes on each side: about 40 seconds",
    what: "loading pulumi-apichat in a program",
    against: "loading @pulumi/pulumi alone",
    ours: ["-e", 'require("@pulumi/pulumi");require("pulumi-apichat")'],
    bare: ["-e", 'require("@pulumi/pulumi")'],
    atMostMs: 20,
    rounds: 20,
  }),
];

function rowOf({ name, title, what, against, ours, bare, atMostMs, rounds }: NodeRow): Row {
  return {
    name,
    title,
    measure: async (context) => {
      const { signal } = context;
      const timeNode = (args: string[]) => (): Promise<number> =>
        timeOf(() => run(process.execPath, args, { cwd: repository, env: process.env, signal }));
      const claim = { what, against, unit: "ms", target: { atMost: atMostMs }, combine: difference } as const;
      const sides = { ours: timeNode(ours), bare: timeNode(bare) };
      return [await compare(context, { ...claim, ...sides, rounds, warmUpRounds: 2 })];
    },
  };
}
