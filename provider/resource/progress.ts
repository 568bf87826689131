/** What takes longer than this is worth a line, in milliseconds. */
const WORTH_A_LINE_MS = 2_000;

let printLine = (name: string, line: string): void => console.log(`${name}: ${line}`);

/** Prints one line of the run, starting with the resource's name: the engine shows it under no resource. */
export function say(name: string, line: string): void {
  printLine(name, line);
}

/** Hands the lines of the run to somebody else from now on: stdout of a command is for its result. */
export function divertLines(print: (name: string, line: string) => void): void {
  printLine = print;
}

/** Runs `work`, and says once what is under way if it takes longer than two seconds. */
export function sayIfSlow<T>(name: string, describe: () => string, work: () => Promise<T>): Promise<T> {
  return tellIfSlow(() => say(name, describe()), work);
}

/** Runs `work`, and calls `tell` once if it takes longer than two seconds. */
export async function tellIfSlow<T>(tell: () => void, work: () => Promise<T>): Promise<T> {
  const timer = setTimeout(tell, WORTH_A_LINE_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
