import { Command, Help } from "commander";
import { addCredentialOptions } from "./credentials.js";
import { addOpenPointOptions } from "./emulator/open-points.js";

/** The width of a help text that goes to no terminal, in characters. */
const WIDTH = 80;

export const credentialsTopic = (): Command =>
  addCredentialOptions(
    new Command("credentials").description("help topic: the options of all commands for credentials"),
    ["baseUrl", "botUrl", "apiKey", "flowApiKey", "verificationKey", "earlierKey"],
  ).addHelpText("after", CREDENTIALS);

export const openPointsTopic = (): Command =>
  addOpenPointOptions(
    new Command("open-points").description(
      "help topic: the options of apichat emulator for the open points of the specification",
    ),
  );

const CREDENTIALS = `
Each value comes from its option (for a secret, the file it names), else from its environment variable, else
from the
--credentials file. The command prompts for a secret that is still missing, without echo. No option takes a secret
itself, because other users could see it. The --credentials file is YAML or JSON with any of these fields;
make it readable only by you (chmod 600):
  baseUrl, botUrl, apiKey, flowApiKey, verificationKey, earlierKey
`;

/** The width of the help on stdout. */
export const helpWidthOf = ({ isTTY, columns }: NodeJS.WriteStream): number =>
  isTTY && columns > 0 ? columns : WIDTH;

/** Wraps paragraphs as a whole, and indented lines with a hanging indent. Examples stay as they are. */
export function wrapHelp(text: string, width: number): string {
  const lines: string[] = [];
  let isParagraph = false;
  for (const line of text.split("\n")) {
    const isText = /^\S/.test(line);
    if (isText && isParagraph) lines.push(`${lines.pop()} ${line}`);
    else lines.push(line);
    isParagraph = isText && !line.endsWith(":");
  }
  return lines.flatMap((line) => wrapLine(line, width)).join("\n");
}

function wrapLine(line: string, width: number): string[] {
  if (line.length <= width || /^\s*[$>] /.test(line)) return [line];
  const [start = ""] = /^\s*(?:\S+ {2,})?/.exec(line) ?? [];
  const wrapped = new Help().boxWrap(line.slice(start.length), width - start.length);
  return wrapped.split("\n").map((part, index) => (index === 0 ? start : " ".repeat(start.length)) + part);
}
