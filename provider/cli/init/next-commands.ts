import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** The workspace that `apichat emulator` has without options. */
export const EMULATOR_URL = "http://127.0.0.1:4000/acme/apichat";
const EMULATOR_API_KEY = "acme-api-key";

/** What brings the program up, as lines for a shell. Joined by `&&`: a question of one takes no line of the paste for its answer. */
export function nextCommands(program: {
  folder: string;
  baseUrl: string;
  webhookUrl: string | undefined;
}): string[] {
  const enter = `cd ${quote(program.folder)}`;
  const key = program.webhookUrl === undefined ? [] : ["pulumi config set --secret verificationKey"];
  if (program.baseUrl !== EMULATOR_URL) {
    const login = hasBackend() ? [] : ["pulumi login"];
    const asked = ["pulumi config set --secret apichat:apiKey", ...key];
    return [chain([enter, "npm install", ...login, "pulumi stack init dev", ...asked, "pulumi up"])];
  }
  // Its keys are test data, so the state may be in this folder, under a known passphrase.
  const backend = hasBackend()
    ? []
    : [`export PULUMI_BACKEND_URL=${quote(`file://${program.folder}`)} PULUMI_CONFIG_PASSPHRASE=test`];
  const known = `pulumi config set --secret apichat:apiKey ${EMULATOR_API_KEY}`;
  return [
    chain([enter, "npm install"]),
    `# In another terminal, where it stays:\n${chain([enter, "npx apichat emulator"])}`,
    chain([...backend, "pulumi stack init dev", known, ...key, "pulumi up"]),
  ];
}

const chain = (commands: readonly string[]): string => commands.join(" &&\n");

/** Whether Pulumi knows where stacks are, and need not ask. */
function hasBackend(): boolean {
  const { PULUMI_BACKEND_URL, PULUMI_ACCESS_TOKEN, PULUMI_HOME } = process.env;
  if (PULUMI_BACKEND_URL || PULUMI_ACCESS_TOKEN) return true;
  const path = join(PULUMI_HOME || join(homedir(), ".pulumi"), "credentials.json");
  return existsSync(path) && /"current": *"[^"]/.test(readFileSync(path, "utf8"));
}

/** One word of a POSIX shell. */
const quote = (text: string): string =>
  /^[\w\-+=:,./@%]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
