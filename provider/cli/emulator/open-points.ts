import { acceptHeaderWay, HEADER_WAY, parseWholeNumber } from "../option-values.js";
import { type Command, Help, Option } from "commander";
import { describeOpenPoint, listOpenPoints, type OpenPoint } from "../../emulator/open-points.js";

const GROUP = "Open points of the specification, and how the emulator interprets them:";

export function addOpenPointOptions(command: Command): Command {
  for (const [path, point] of listOpenPoints()) command.addOption(toOption(path, point));
  // Omit commander's list of choices: the description already lists the readings with their meanings.
  return command.configureHelp({
    optionDescription: (option) =>
      option.helpGroupHeading === GROUP ? option.description : new Help().optionDescription(option),
  });
}

/** Omits the open points' options from a command's help. The command still accepts them. */
export const hideOpenPoints = (command: Command): Command =>
  command.configureHelp({
    visibleOptions: (shown) =>
      new Help().visibleOptions(shown).filter(({ helpGroupHeading }) => helpGroupHeading !== GROUP),
  });

export function pickSwitches(parsed: Record<string, unknown>): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const [path, point] of listOpenPoints()) {
    const value = parsed[toOption(path, point).attributeName()];
    const [name = "", inner] = path.split(".");
    if (value !== undefined)
      picked[name] = inner === undefined ? value : { ...(picked[name] as object), [inner]: value };
  }
  return picked;
}

/** `handshake.timeoutMs` becomes `--handshake-timeout-ms`. */
export const flagOf = (path: string): string =>
  `--${path.replaceAll(".", "-").replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`;

function toOption(path: string, point: OpenPoint): Option {
  const placeholder = "readings" in point ? " <reading>" : point.kind === "flag" ? "" : ` <${point.kind}>`;
  const option = new Option(`${flagOf(path)}${placeholder}`, describeOpenPoint(point)).helpGroup(GROUP);
  if ("min" in point) {
    const { min, max } = point;
    return option.argParser(parseWholeNumber(min, max, `from ${min} to ${max}`));
  }
  if (!("readings" in point)) return option;
  option.choices(Object.keys(point.readings));
  return HEADER_WAY in point.readings ? acceptHeaderWay(option) : option;
}
