import { InvalidArgumentError, Option } from "commander";
import { problemOfUrl } from "../lib/url.js";
import { DEFAULT_REQUEST_SECONDS } from "../lib/retry.js";

export const parseWholeNumber =
  (min: number, max: number, accepted: string) =>
  (text: string): number => {
    const number = Number(text);
    if (/^-?\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number ${accepted}.`);
  };

export const parsePort = parseWholeNumber(0, 65_535, "from 0 to 65535; 0 picks a free one");

export const parseCount = parseWholeNumber(1, Number.MAX_SAFE_INTEGER, "from 1");

export const parseCountOrNone = parseWholeNumber(0, Number.MAX_SAFE_INTEGER, "from 0");

export const parseConversationId = parseWholeNumber(
  Number.MIN_SAFE_INTEGER,
  Number.MAX_SAFE_INTEGER,
  "from -9007199254740991 to 9007199254740991",
);

export function parseUrl(text: string): string {
  const problem = problemOfUrl(text, "https://chat.example/webhooks/apichat");
  if (problem === undefined) return text;
  throw new InvalidArgumentError(`It ${problem}.`);
}

/** The choice that sends only the key, in a header named NAME. */
export const HEADER_WAY = "header:NAME";

/** Makes an option with choices accept `header:NAME` with any name. The option's value is then an object. */
export function acceptHeaderWay(option: Option): Option {
  const { parseArg } = option;
  return option.argParser((text) =>
    text.startsWith("header:") ? { header: text.slice("header:".length) } : parseArg?.(text, undefined),
  );
}

const MAX_SECONDS = 3_600;

export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (seconds > 0 && seconds <= MAX_SECONDS) return seconds;
  throw new InvalidArgumentError(`It must be a number of seconds above 0, at most ${MAX_SECONDS}.`);
}

/** Like {@link parseSeconds}, but also accepts 0, which means not to wait. */
export const parseWaitingSeconds = (text: string): number => (text === "0" ? 0 : parseSeconds(text));

export const requestSecondsOption = (description: string, seconds = DEFAULT_REQUEST_SECONDS): Option =>
  new Option("--request-seconds <seconds>", description).argParser(parseSeconds).default(seconds);
