/** What takes longer than this is worth a line, in milliseconds. */
const WORTH_A_LINE_MS = 2_000;

/** Prints one line of the run, starting with the resource's name: the engine shows it under no resource. */
export function say(name: string, line: string): void {
  console.log(`${name}: ${line}`);
}

/** Runs `work`, and says once what is under way if it takes longer than two seconds. */
export async function sayIfSlow<T>(name: string, describe: () => string, work: () => Promise<T>): Promise<T> {
  const timer = setTimeout(() => say(name, describe()), WORTH_A_LINE_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
