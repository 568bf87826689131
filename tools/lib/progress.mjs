import process from "node:process";

const QUIET_MS = 2000;
const TERMINAL_EVERY_MS = 500;
const LOG_EVERY_MS = 15_000;

/**
 * Shows the progress of long work: `title` at once; after two seconds, a line with the elapsed time; at the end,
 * the duration. On a terminal, the line is rewritten in place; elsewhere, a new one is printed every 15 seconds.
 * If `title` is empty, shows only the line. The set-up imports this file, so it must run on Node 20 without packages.
 *
 * @template T
 * @param {string} title the work and its usual duration
 * @param {(update: (detail: string) => void) => Promise<T>} work calls `update` with its progress
 * @param {NodeJS.WriteStream} [stream] default: stderr
 * @returns {Promise<T>}
 */
export async function withProgress(title, work, stream = process.stderr) {
  const startedMs = Date.now();
  const clear = stream.isTTY ? "\r\u001b[K" : "";
  let detail = "";
  let end = "";
  if (title) stream.write(`${title}\n`);
  const show = () => {
    if (Date.now() - startedMs < QUIET_MS) return;
    const line = `  ${durationSince(startedMs)} ${detail}`.trimEnd();
    stream.write(stream.isTTY ? `${clear}${line.slice(0, (stream.columns || 80) - 1)}` : `${line}\n`);
    end = clear;
  };
  const timer = setInterval(show, stream.isTTY ? TERMINAL_EVERY_MS : LOG_EVERY_MS);
  try {
    const result = await work((next) => (detail = next.trim()));
    if (title) end += `  done in ${durationSince(startedMs)}\n`;
    return result;
  } finally {
    clearInterval(timer);
    stream.write(end);
  }
}

/** @param {number} startedMs */
function durationSince(startedMs) {
  const seconds = Math.round((Date.now() - startedMs) / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
