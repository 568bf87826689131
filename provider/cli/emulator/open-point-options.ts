import { Help, InvalidArgumentError, Option, type Command } from "commander";
import { OPEN_POINTS, type OpenPoint } from "./open-points.js";

const GROUP = "Open points of the specification, and how they are read:";

/** Adds an option for each open point, in a group of its own in the help. */
export function addOpenPointOptions(command: Command): Command {
  for (const [path, point] of Object.entries(OPEN_POINTS)) command.addOption(toOption(path, point));
  return command.configureHelp({ optionDescription: describeOption });
}

/** The options of `startEmulator` that were chosen, out of what commander has parsed. */
export function pickSwitches(parsed: Record<string, unknown>): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const [path, point] of Object.entries(OPEN_POINTS)) {
    const value = parsed[toOption(path, point).attributeName()];
    if (value !== undefined) put(picked, path.split("."), value);
  }
  return picked;
}

function put(target: Record<string, unknown>, [name = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    target[name] = value;
    return;
  }
  const inner = (target[name] ?? {}) as Record<string, unknown>;
  put(inner, rest, value);
  target[name] = inner;
}

/** `handshake.timeoutMs` becomes `--handshake-timeout-ms`. */
export const flagOf = (path: string): string =>
  `--${path.replaceAll(".", "-").replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`;

function toOption(path: string, point: OpenPoint): Option {
  const flag = flagOf(path);
  if ("readings" in point) {
    const option = new Option(`${flag} <reading>`, describe(point)).choices(Object.keys(point.readings));
    return option.helpGroup(GROUP);
  }
  const { placeholder, parse } = VALUES[point.value];
  const option = new Option(`${flag}${placeholder}`, describe(point)).helpGroup(GROUP);
  return parse === undefined ? option : option.argParser(parse);
}

const VALUES = {
  none: { placeholder: "", parse: undefined },
  text: { placeholder: " <text>", parse: undefined },
  count: { placeholder: " <count>", parse: parseCount },
  ms: { placeholder: " <ms>", parse: parseMs },
};

function describe(point: OpenPoint): string {
  const title = `${point.about} (section ${point.section})`;
  if (!("readings" in point)) return `${title}; default ${point.otherwise}`;
  const lines = Object.entries(point.readings).map(
    ([reading, meaning]) => `- ${reading}: ${meaning}${reading === point.otherwise ? " (default)" : ""}`,
  );
  return [title, ...lines].join("\n");
}

/** The description lists the readings, each with its meaning: commander would list them once more. */
function describeOption(option: Option): string {
  return option.helpGroupHeading === GROUP ? option.description : new Help().optionDescription(option);
}

function parseCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}

const MOST_MS = 2_147_483_647;

function parseMs(text: string): number {
  const ms = Number(text);
  if (/^\d+$/.test(text) && ms <= MOST_MS) return ms;
  throw new InvalidArgumentError(`It must be a whole number of milliseconds, at most ${MOST_MS}.`);
}
