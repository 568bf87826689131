import { Command, Help } from "commander";
import { addCredentialOptions } from "./credentials.js";
import { addOpenPointOptions } from "./emulator/open-points.js";

/** The width, in characters, of help text that is not printed on a terminal. */
const WIDTH = 80;

export const credentialsTopic = (): Command =>
  addCredentialOptions(
    new Command("credentials").description("help topic: the credential options of all commands"),
    ["baseUrl", "botUrl", "apiKey", "flowApiKey", "verificationKey", "earlierKey"],
  ).addHelpText("after", CREDENTIALS);

export const openPointsTopic = (): Command =>
  addOpenPointOptions(
    new Command("open-points").description(
      "help topic: the options of apichat emulator for the open points of the specification",
    ),
  );

const CREDENTIALS = `
Each value comes from its option (for a secret, from the file that the option names), else from its environment
variable. The command prompts for a secret that is still missing, without echo. No option takes a secret itself,
because other users could see it.

You can keep a workspace's variables in a file that only you can read, and load it in a shell:
  $ set -a; . ./acme.env; set +a
`;

export const helpWidthOf = ({ isTTY, columns }: NodeJS.WriteStream): number =>
  isTTY && columns > 0 ? columns : WIDTH;

/** Wraps paragraphs but not indented lines: commander wraps its lists itself, and examples are meant to be pasted. */
export function wrapHelp(text: string, width: number): string {
  const paragraphs = text.replaceAll(/(?<=^\S.*[^:\n])\n(?=\S)/gm, " ");
  return paragraphs.replaceAll(/^\S.*/gm, (line) => new Help().boxWrap(line, width));
}
