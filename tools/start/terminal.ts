import process from "node:process";
import { styleText } from "node:util";

const moveEveryMs = 500;
const quietMs = 2000;
const logEveryMs = 15_000;

/** What `npm start` prints. Colours and moving lines only on a terminal; `NO_COLOR` is respected. */
export interface Terminal {
  heading(text: string): void;
  /** A command, as a person would type it. */
  command(line: string): void;
  /** A line to copy into a shell. */
  paste(line: string): void;
  /** What came of it. */
  result(line: string): void;
  failure(text: string): void;
  /** Does `work`, and shows that time passes if it takes longer than two seconds. */
  wait<T>(work: (report: (detail: string) => void) => Promise<T>): Promise<T>;
}

export function createTerminal(stream: NodeJS.WriteStream = process.stdout): Terminal {
  const print = (line: string): void => void stream.write(`${line}\n`);
  return {
    heading: (text) => print(`\n${styleText("bold", text, { stream })}`),
    command: (line) => print(`${styleText("dim", "$", { stream })} ${styleText("cyan", line, { stream })}`),
    paste: (line) => print(styleText("cyan", line, { stream })),
    result: (line) => print(`  ${line}`),
    failure: (text) => print(`\n${styleText("red", text, { stream })}`),
    wait: (work) => waitOn(stream, work),
  };
}

async function waitOn<T>(
  stream: NodeJS.WriteStream,
  work: (report: (detail: string) => void) => Promise<T>,
): Promise<T> {
  const startedMs = Date.now();
  const clear = stream.isTTY ? "\r\u001b[K" : "";
  const width = (stream.columns || 80) - 1;
  let detail = "";
  let isShown = false;
  const timer = setInterval(
    () => {
      const elapsedMs = Date.now() - startedMs;
      if (elapsedMs < quietMs) return;
      const line = `  ${Math.round(elapsedMs / 1000)} s ${detail}`.trimEnd();
      stream.write(stream.isTTY ? `${clear}${line.slice(0, width)}` : `${line}\n`);
      isShown = true;
    },
    stream.isTTY ? moveEveryMs : logEveryMs,
  );
  try {
    return await work((next) => (detail = next.trim()));
  } finally {
    clearInterval(timer);
    if (isShown) stream.write(clear);
  }
}
