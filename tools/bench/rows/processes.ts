import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { run } from "../../lib/run.ts";
import { readCpu } from "../cpu.ts";
import { pluginFolder } from "../project.ts";
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
  pluginStartRow(),
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

/** What the engine pays for the plugin before its first call. */
function pluginStartRow(): Row {
  const title = "Starting the plugin, 20 processes on each side: about 15 seconds";
  const bare = ["-e", "console.log(0);setInterval(()=>{},1e3)"];
  return {
    name: "plugin-start",
    title,
    measure: async (context) => {
      // No engine has this address: the plugin calls it only when it has something to print.
      const ours = [join(pluginFolder, "pulumi-resource-apichat"), "127.0.0.1:9"];
      const sides = { ours: () => cpuToFirstLine(ours), bare: () => cpuToFirstLine(bare) };
      const claim = {
        what: "CPU of the plugin's start to its port",
        against: "node -e 0",
        target: { atMost: 250 },
        unit: "ms",
        combine: difference,
      } as const;
      return [await compare(context, { ...claim, ...sides, rounds: 20, warmUpRounds: 2 })];
    },
  };
}

/** What Node computes until it prints its first line, in milliseconds. It is ended then. */
async function cpuToFirstLine(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  try {
    await once(child.stdout, "data");
    return await readCpu(child.pid ?? 0);
  } finally {
    child.kill("SIGKILL");
  }
}
