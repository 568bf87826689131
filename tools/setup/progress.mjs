import process from "node:process";

const terminalEveryMs = 500;
const logEveryMs = 15_000;

/**
 * Says on stderr that something takes long: `title` at once, then a line that moves (rewritten in place on a
 * terminal, else a new line every 15 seconds), at the end how long it took.
 *
 * @template T
 * @param {string} title what is done and how long that usually takes
 * @param {(update: (detail: string) => void) => Promise<T>} work calls `update` with how far it is
 * @returns {Promise<T>}
 */
export async function withProgress(title, work) {
  const { stderr } = process;
  const started = Date.now();
  let detail = "";
  const line = () => `  ${[duration(Date.now() - started), detail].filter(Boolean).join(", ")}`;
  stderr.write(`${title}\n`);
  const timer = setInterval(
    () => stderr.write(stderr.isTTY ? `\r\u001b[K${line()}` : `${line()}\n`),
    stderr.isTTY ? terminalEveryMs : logEveryMs,
  );
  const stop = () => {
    clearInterval(timer);
    if (stderr.isTTY) stderr.write("\r\u001b[K");
  };
  try {
    const result = await work((text) => {
      detail = text;
    });
    stop();
    stderr.write(`  done in ${duration(Date.now() - started)}\n`);
    return result;
  } catch (error) {
    stop();
    throw error;
  }
}

/** @param {number} milliseconds */
function duration(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
