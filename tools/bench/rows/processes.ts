import process from "node:process";
import { fileURLToPath } from "node:url";
import { run } from "../../setup/run.mjs";
import { compare, difference, timeOf, type Claim, type Row } from "../measure.ts";

const repository = fileURLToPath(new URL("../../..", import.meta.url));

interface NodeRow extends Pick<Claim, "what" | "against" | "target">, Pick<Row, "name" | "title"> {
  /** Arguments of Node on either side. */
  ours: string[];
  bare: string[];
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
    target: { atMost: 80 },
    rounds: 30,
  }),
  rowOf({
    name: "loading",
    title: "Loading pulumi-apichat, 20 processes on each side: about 40 seconds",
    what: "loading pulumi-apichat in a program",
    against: "loading @pulumi/pulumi alone",
    ours: ["-e", 'require("@pulumi/pulumi");require("pulumi-apichat")'],
    bare: ["-e", 'require("@pulumi/pulumi")'],
    target: { atMost: 20 },
    rounds: 20,
  }),
];

function rowOf({ name, title, ours, bare, rounds, ...claim }: NodeRow): Row {
  return {
    name,
    title,
    measure: async (context) => {
      const options = { cwd: repository, env: process.env, signal: context.signal };
      const timeNode = (args: string[]) => (): Promise<number> =>
        timeOf(() => run(process.execPath, args, options));
      const sides = { ours: timeNode(ours), bare: timeNode(bare) };
      const given = { ...claim, ...sides, unit: "ms", combine: difference, rounds, warmUpRounds: 2 } as const;
      return [await compare(context, given)];
    },
  };
}
