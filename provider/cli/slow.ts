import { noticeIfSlow, printLinesWith } from "../resource/process.js";
import { note } from "./output.js";

/** Runs `work`, and prints on stderr what is in progress if it takes longer than two seconds. */
export const noteIfSlow = <T>(describe: () => string, work: () => Promise<T>): Promise<T> =>
  noticeIfSlow(() => note(describe()), work);

/** Lines of the code that commands share with the resources go to stderr, without the resource's name. */
export const divertLinesToStderr = (): void => printLinesWith((_name, line) => note(line));
