import { isDeepStrictEqual } from "node:util";
import { MessageClient } from "pulumi-apichat/client";
import { CommandError } from "../lib/run.ts";
import { NAMES, type Name, type Stage } from "./stage.ts";
import { printHeading, printResult, type Shell } from "./terminal.ts";

const CHANGED: Name = "globex";
const everyName = NAMES.join(", ");

/** Runs `up` for three workspaces. */
export async function registerWebhooks(stage: Stage, shell: Shell): Promise<void> {
  printHeading("Three workspaces get a webhook (examples/workspaces)");
  shell.cd("workspaces");
  await shell.pulumi("stack init dev");
  await shell.pulumi("config set --secret apichat:apiKey", stage.apiKey);
  for (const name of NAMES) {
    await shell.pulumi(`config set --secret --path verificationKeys.${name}`, stage.keys[name]);
  }
  const output = await shell.pulumi("up --yes --skip-preview");
  for (const name of NAMES) confirmRegistered(stage, name, output);
  printResult(`+ created ${everyName}`);
  const { bot_url, status } = await readOutputs(shell);
  for (const name of NAMES) {
    const isExported = status[name] === "verified" && bot_url[name] === stage.emulator.workspace(name).botUrl;
    confirm(`${name} is verified and exports its bot_url`, isExported);
    printResult(`${name.padEnd(8)} status ${status[name]}  bot_url ${bot_url[name]}`);
  }
}

/** Sends a contact's message to bot_url. The flow replies, and the service posts the signed reply to the webhook. */
export async function exchangeMessages({ emulator, deliveries }: Stage): Promise<void> {
  printHeading(
    "A contact of acme writes: the chat posts to bot_url, and the webhook receives the flow's reply",
  );
  const { botUrl, flowApiKey } = emulator.workspace("acme");
  const text = "Where is my parcel?";
  const sender = { id: "contact-1", name: "Ana" };
  const client = new MessageClient({ botUrl, flowApiKey });
  const { httpStatus } = await client.sendText({ sender, conversationId: 1, text });
  printResult(`"${text}" sent; the service responded with ${httpStatus}`);
  const { verdict, reason } = await emulator.waitForDelivery({ workspace: "acme" });
  confirm("the reply is delivered", verdict === "delivered", reason);
  const received = deliveries.at(-1);
  if (received?.kind !== "button_template") throw new CommandError("The reply is not the flow's menu.");
  confirm("the reply is signed with acme's key", received.keyIndex === NAMES.indexOf("acme"));
  const titles = received.message.content_attributes.buttons.map(({ title }) => title).join(", ");
  printResult(
    `a reply with the buttons ${titles} arrived, and the endpoint accepted it; ` +
      "signature verified with acme's key",
  );
}

/** Changes a registration by hand: `refresh` and `preview` show the change, and `up` repairs it. */
export async function repairDrift(stage: Stage, shell: Shell): Promise<void> {
  const ours = stage.webhookUrl;
  const other = `${ours}/somebody-else`;
  printHeading(`Somebody changes ${CHANGED}'s webhook behind our back, to ${other}`);
  stage.emulator.workspace(CHANGED).change({ webhook_url: other });
  const refreshed = await shell.pulumi("refresh --yes --skip-preview");
  printResult(`~ ${CHANGED} ${findIn(refreshed, /\[diff: .*\]/)}`);
  printResult(findIn(await shell.pulumi("preview --diff"), /~ webhookUrl .* => .*/).replace(/\s+/g, " "));
  confirmRegistered(stage, CHANGED, await shell.pulumi("up --yes --skip-preview"));
  printResult(`~ updated ${CHANGED}; the service has our URL again`);
}

/** Lets another stack read the bot URLs. */
export async function readInAnotherStack({ emulator }: Stage, shell: Shell): Promise<void> {
  printHeading("Another stack reads bot_url (examples/consumer)");
  shell.cd("consumer");
  await shell.pulumi("stack init dev");
  await shell.pulumi("config set workspacesStack organization/apichat-workspaces/dev");
  const output = await shell.pulumi("up --yes --skip-preview");
  const { bot_url } = await readOutputs(shell);
  const expected = Object.fromEntries(NAMES.map((name) => [name, emulator.workspace(name).botUrl]));
  confirm("the other stack has the bot_url of each workspace", isDeepStrictEqual(bot_url, expected), output);
  printResult(`bot_url of ${everyName}: the same as above`);
}

/** Destroys both stacks. */
export async function destroyAll({ emulator }: Stage, shell: Shell): Promise<void> {
  printHeading("Everything is removed");
  await shell.pulumi("destroy --yes --skip-preview");
  shell.cd("workspaces");
  const output = await shell.pulumi("destroy --yes --skip-preview");
  const isLeft = NAMES.some((name) => emulator.workspace(name).registration);
  confirm("nothing is registered", !isLeft, output);
  printResult(`- deleted ${everyName}; the service has no registration left`);
}

/** Stops the run if a claim does not hold. */
function confirm(claim: string, holds: boolean, output = ""): void {
  if (!holds) throw new CommandError(`Check failed: ${claim}`, output);
}

/** Returns the part of a command's output that matches the pattern. Stops the run if nothing matches. */
function findIn(output: string, pattern: RegExp): string {
  const [found] = pattern.exec(output) ?? [];
  if (found === undefined) throw new CommandError(`Check failed: pulumi prints ${pattern}`, output);
  return found;
}

/** Reads the outputs of the stack. */
async function readOutputs(shell: Shell) {
  return JSON.parse(await shell.pulumi("stack output --json")) as Record<
    "bot_url" | "status",
    Record<string, string>
  >;
}

/** Stops the run unless the webhook is verified at the service, with our URL and the workspace's own key. */
function confirmRegistered({ emulator, webhookUrl, keys }: Stage, name: Name, output: string): void {
  const expected = {
    webhook_url: webhookUrl,
    webhook_verification_key: keys[name],
    webhook_status: "verified",
  };
  const { bot_url: _, ...found } = emulator.workspace(name).registration ?? {};
  confirm(`the service has ${name}'s webhook`, isDeepStrictEqual(found, expected), output);
}
