import process from "node:process";

const quietMs = 2000;
const terminalEveryMs = 500;
const logEveryMs = 15_000;

/**
 * Shows that something takes long: `title` at once, and after two seconds a line with the time (rewritten in place on a
 * terminal, else a new line every 15 seconds), at the end how long it took. Without a title only the line that moves.
 *
 * @template T
 * @param {string} title what is done and how long that usually takes
 * @param {(update: (detail: string) => void) => Promise<T>} work calls `update` with how far it is
 * @param {NodeJS.WriteStream} [stream] default: stderr
 * @returns {Promise<T>}
 */
export async function withProgress(title, work, stream = process.stderr) {
  const startedMs = Date.now();
  const clear = stream.isTTY ? "\r\u001b[K" : "";
  const width = (stream.columns || 80) - 1;
  let detail = "";
  let isShown = false;
  if (title) stream.write(`${title}\n`);
  const timer = setInterval(
    () => {
      if (Date.now() - startedMs < quietMs) return;
      const line = `  ${duration(Date.now() - startedMs)} ${detail}`.trimEnd();
      stream.write(stream.isTTY ? `${clear}${line.slice(0, width)}` : `${line}\n`);
      isShown = true;
    },
    stream.isTTY ? terminalEveryMs : logEveryMs,
  );
  let done = "";
  try {
    const result = await work((next) => (detail = next.trim()));
    if (title) done = `  done in ${duration(Date.now() - startedMs)}\n`;
    return result;
  } finally {
    clearInterval(timer);
    stream.write(`${isShown ? clear : ""}${done}`);
  }
}

/** @param {number} milliseconds */
function duration(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
