import { readFile } from "node:fs/promises";

/** A system call. `begun` and `ended` are its places in the trace. */
export interface SystemCall {
  name: string;
  /** The file or socket. */
  path: string;
  data: Buffer;
  result: number;
  begun: number;
  ended: number;
}

/** The command line that traces the reads, writes and syncs of a program, with all threads, into a file. */
export const straceTo = (file: string): string[] => {
  const calls = "read,write,writev,pwrite64,fsync,fdatasync";
  return ["strace", "-D", "-f", "-y", "-xx", "-s", "16384", "-e", `trace=${calls}`, "-o", file];
};

/** Whether the program that is traced has ended, and all of it is in the file. */
export const hasEnded = async (file: string): Promise<boolean> =>
  /\+\+\+ (?:killed by|exited with) .* \+\+\+\n$/.test(await readFile(file, "latin1"));

/** Reads the calls of a trace, in the order in which they ended. */
export async function readTrace(file: string): Promise<SystemCall[]> {
  const calls: SystemCall[] = [];
  const unfinished = new Map<string, { text: string; begun: number }>();
  for (const [line, text] of (await readFile(file, "latin1")).split("\n").entries()) {
    const [, thread = "", rest = ""] = /^(\d+) +(.*)$/.exec(text) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const { text: start = "", begun = line } = (resumed && unfinished.get(thread)) ?? {};
    if (rest.endsWith("<unfinished ...>")) unfinished.set(thread, { text: rest.slice(0, -16), begun });
    else {
      const call = parseCall(start + (resumed?.[1] ?? rest));
      if (call) calls.push({ ...call, begun, ended: line });
    }
  }
  return calls;
}

const fromHex = (text: string): Buffer => Buffer.from(text.replaceAll(String.raw`\x`, ""), "hex");

function parseCall(text: string): Omit<SystemCall, "begun" | "ended"> | undefined {
  const [, name, path, parameters, result] = /^(\w+)\(\d+<([^>]*)>(.*)\) += (-?\d+)/.exec(text) ?? [];
  if (name === undefined || path === undefined || parameters === undefined) return undefined;
  const data = Buffer.concat([...parameters.matchAll(/"([^"]*)"/g)].map(([, hex]) => fromHex(hex ?? "")));
  return { name, path: fromHex(path).toString(), data, result: Number(result) };
}
