import { InvalidArgumentError } from "commander";

const MOST_SECONDS = 3_600;

/** A time limit in seconds, for commander. */
export function parseSeconds(text: string): number {
  const seconds = toNumber(text);
  if (seconds > 0 && seconds <= MOST_SECONDS) return seconds;
  throw new InvalidArgumentError(`It must be a number of seconds above 0, at most ${MOST_SECONDS}.`);
}

/** As {@link parseSeconds}, and 0 for no waiting. */
export const parseWaitingSeconds = (text: string): number => (toNumber(text) === 0 ? 0 : parseSeconds(text));

const toNumber = (text: string): number => (text.trim() === "" ? Number.NaN : Number(text));
