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
  confirmOperation("created", NAMES, output);
  confirm(
    "the service has each workspace's own key",
    NAMES.every((name) => isRegistered(stage, name)),
    output,
  );
  printResult(`+ created ${everyName}`);
  const { bot_url, status } = await readOutputs(shell);
  for (const name of NAMES) {
    const isExported = status[name] === "verified" && bot_url[name] === stage.emulator.workspace(name).botUrl;
    confirm(`${name} is verified and exports its bot_url`, isExported);
    printResult(`${name.padEnd(8)} status ${status[name]}  bot_url ${bot_url[name]}`);
  }
}

/** Sends a contact's message to bot_url; the service posts the flow's signed reply to the webhook. */
export async function exchangeMessages({ emulator, deliveries }: Stage): Promise<void> {
  printHeading(
    "A contact writes in acme: the chat posts to bot_url, and the webhook receives the flow's reply",
  );
  const { botUrl, flowApiKey } = emulator.workspace("acme");
  const text = "Where is my parcel?";
  const sender = { id: "contact-1", name: "Ana" };
  const client = new MessageClient({ botUrl, flowApiKey });
  const { httpStatus } = await client.sendText({ sender, conversationId: 1, text });
  printResult(`"${text}" sent; the service responded with ${httpStatus}`);
  const { verdict, status, reason } = await emulator.waitForDelivery({ workspace: "acme" });
  confirm("the reply is delivered", verdict === "delivered", reason);
  const received = deliveries.at(-1);
  if (received?.kind !== "button_template") throw new CommandError("The reply is not the menu of the flow.");
  confirm("acme's key has signed it", received.keyIndex === NAMES.indexOf("acme"));
  const titles = received.message.content_attributes.buttons.map(({ title }) => title).join(", ");
  printResult(
    `a reply with the buttons ${titles} arrived; the endpoint responded with ${status}; ` +
      "signature verified with the key of acme",
  );
}

/** Changes a registration by hand: `refresh` shows it, `preview` names it, `up` repairs it. */
export async function repairDrift(stage: Stage, shell: Shell): Promise<void> {
  const ours = stage.webhookUrl;
  const other = `${ours}/somebody-else`;
  printHeading(`Somebody changes the webhook of ${CHANGED} behind our back, to ${other}`);
  stage.emulator.workspace(CHANGED).change({ webhook_url: other });
  const refreshed = await shell.pulumi("refresh --yes --skip-preview");
  const [diff = ""] = confirmOperation("updated", [CHANGED], refreshed);
  printResult(`~ ${CHANGED} ${diff}`);
  const preview = await shell.pulumi("preview --diff");
  const difference = preview.split("\n").find((text) => text.includes("~ webhookUrl")) ?? "";
  confirm("preview names both URLs", difference.includes(`"${other}" => "${ours}"`), preview);
  printResult(difference.trim().replace(/\s+/g, " "));
  const repaired = await shell.pulumi("up --yes --skip-preview");
  confirmOperation("updated", [CHANGED], repaired);
  confirm("the service has our URL again", isRegistered(stage, CHANGED), repaired);
  printResult(`~ updated ${CHANGED}; the service has our URL again`);
}

/** Reads the bot URLs from another stack. */
export async function readFromAnotherStack({ emulator }: Stage, shell: Shell): Promise<void> {
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
  confirmOperation("deleted", NAMES, output);
  confirm(
    "nothing is registered",
    NAMES.every((name) => !emulator.workspace(name).registration),
    output,
  );
  printResult(`- deleted ${everyName}; the service has no registration left`);
}

/** Stops the run if a claim does not hold. */
function confirm(claim: string, holds: boolean, output = ""): void {
  if (!holds) throw new CommandError(`Check failed: ${claim}`, output);
}

const resourceLine = /^\s*[-+~]+\s+\S*ApiChatWebhook (\S+) (created|updated|deleted) \([^)]*\)(.*)$/gm;

/**
 * Confirms that a command printed this operation for exactly these webhooks. Returns their differences, such
 * as `[diff: ~webhookUrl]`.
 */
function confirmOperation(operation: string, names: readonly string[], output: string): string[] {
  const lines = [...output.matchAll(resourceLine)].filter(([, , actual]) => actual === operation);
  const claim = `pulumi prints that ${names.join(", ")} were ${operation}`;
  confirm(claim, isDeepStrictEqual(new Set(lines.map(([, name]) => name)), new Set(names)), output);
  return lines.map(([, , , diff = ""]) => diff.trim());
}

/** Reads the outputs of the stack. */
async function readOutputs(shell: Shell) {
  return JSON.parse(await shell.pulumi("stack output --json")) as Record<
    "bot_url" | "status",
    Record<string, string>
  >;
}

/** Whether the webhook is verified at the service, with our URL and the workspace's own key. */
function isRegistered({ emulator, webhookUrl, keys }: Stage, name: Name): boolean {
  const registration = emulator.workspace(name).registration;
  return (
    registration?.webhook_url === webhookUrl &&
    registration.webhook_verification_key === keys[name] &&
    registration.webhook_status === "verified"
  );
}
