import { isDeepStrictEqual } from "node:util";
import { MessageClient } from "pulumi-apichat/client";
import { CommandError } from "../lib/run.ts";
import { workspaceNames, type Stage, type WorkspaceName } from "./stage.ts";
import { printHeading, printResult, type Shell } from "./terminal.ts";

const changed: WorkspaceName = "globex";
const everyName = workspaceNames.join(", ");

/** `up` for three workspaces. */
export async function registerWebhooks(stage: Stage, shell: Shell): Promise<void> {
  printHeading("Three workspaces get a webhook (examples/workspaces)");
  shell.cd("workspaces");
  await shell.pulumi("stack init dev");
  await shell.pulumi("config set --secret apichat:apiKey", stage.apiKey);
  for (const name of workspaceNames) {
    await shell.pulumi(`config set --secret --path verificationKeys.${name}`, stage.keys[name]);
  }
  const output = await shell.pulumi("up --yes --skip-preview");
  confirmOperation("created", workspaceNames, output);
  const registered = workspaceNames.filter((name) => isRegistered(stage, name));
  confirm("the service holds each workspace's own key", registered.length === 3, output);
  printResult(`+ created ${everyName}`);

  const { bot_url, status } = await readOutputs(shell);
  for (const name of workspaceNames) {
    confirm(`${name} is verified`, status[name] === "verified");
    confirm(`${name} has its bot_url`, bot_url[name] === stage.emulator.workspace(name).botUrl);
    printResult(`${name.padEnd(8)} status ${status[name]}  bot_url ${bot_url[name]}`);
  }
}

/** A contact writes to bot_url, and the service posts the flow's signed reply to the webhook. */
export async function exchangeMessages({ emulator, deliveries }: Stage): Promise<void> {
  printHeading(
    "A contact writes in acme: the chat posts it to bot_url, and the flow's reply comes to the webhook",
  );
  const { botUrl, flowApiKey } = emulator.workspace("acme");
  const client = new MessageClient({ botUrl, flowApiKey });
  const text = "Where is my parcel?";
  const sender = { id: "contact-1", name: "Ana" };
  const { httpStatus } = await client.sendText({ sender, conversationId: 1, text });
  printResult(`"${text}" sent, answered ${httpStatus}`);
  const { verdict, status, reason } = await emulator.waitForDelivery({ workspace: "acme" });
  confirm("the reply is delivered", verdict === "delivered", reason);
  const received = deliveries.at(-1);
  if (received?.kind !== "button_template")
    throw new CommandError("The reply is not the menu of the flow.", "");
  confirm("acme's key has signed it", received.keyIndex === workspaceNames.indexOf("acme"));
  const titles = received.message.content_attributes.buttons.map(({ title }) => title).join(", ");
  printResult(
    `a reply with the buttons ${titles} arrived, answered ${status}; signature verified with the key of acme`,
  );
}

/** Somebody changes a registration: `refresh` shows it, `preview` names it, `up` repairs it. */
export async function repairDrift(stage: Stage, shell: Shell): Promise<void> {
  const ours = stage.webhookUrl;
  const other = `${ours}/somebody-else`;
  printHeading(`Somebody changes the webhook of ${changed} behind our back, to ${other}`);
  stage.emulator.workspace(changed).change({ webhook_url: other });

  const refreshed = await shell.pulumi("refresh --yes --skip-preview");
  const [diff = ""] = confirmOperation("updated", [changed], refreshed);
  confirm(`refresh shows that webhookUrl of ${changed} has changed`, diff.includes("webhookUrl"), refreshed);
  printResult(`~ ${changed} ${diff}`);

  const preview = await shell.pulumi("preview --diff");
  const difference = preview.split("\n").find((text) => text.includes("~ webhookUrl")) ?? "";
  const isNamed =
    difference.includes(`"${other}" => "${ours}"`) && preview.includes(`ApiChatWebhook::${changed}`);
  confirm("preview names both URLs", isNamed, preview);
  printResult(difference.trim().replace(/\s+/g, " "));

  const repaired = await shell.pulumi("up --yes --skip-preview");
  confirmOperation("updated", [changed], repaired);
  confirm("the service has our URL again", isRegistered(stage, changed), repaired);
  printResult(`~ updated ${changed}; the service has our URL again`);
}

/** Another stack reads the bot URLs. */
export async function readFromAnotherStack({ emulator }: Stage, shell: Shell): Promise<void> {
  printHeading("Another stack reads bot_url (examples/consumer)");
  shell.cd("consumer");
  await shell.pulumi("stack init dev");
  await shell.pulumi("config set workspacesStack organization/apichat-workspaces/dev");
  const output = await shell.pulumi("up --yes --skip-preview");
  const { bot_url, environment } = await readOutputs(shell);
  const expected = Object.fromEntries(workspaceNames.map((name) => [name, emulator.workspace(name).botUrl]));
  const isSame = isDeepStrictEqual(bot_url, expected);
  confirm("the other stack has the bot_url of each workspace", isSame, output);
  const forService = JSON.parse(environment["APICHAT_BOT_URLS"] ?? "{}") as unknown;
  confirm("and so has the environment of a service", isDeepStrictEqual(forService, expected), output);
  printResult(`bot_url of ${everyName}: the same as above`);
}

/** `destroy` of both stacks. */
export async function destroyAll({ emulator }: Stage, shell: Shell): Promise<void> {
  printHeading("Everything goes");
  await shell.pulumi("destroy --yes --skip-preview");
  shell.cd("workspaces");
  const output = await shell.pulumi("destroy --yes --skip-preview");
  confirmOperation("deleted", workspaceNames, output);
  const left = workspaceNames.filter((name) => emulator.workspace(name).registration !== undefined);
  confirm(`nothing is registered in ${left.join(", ")}`, left.length === 0, output);
  printResult(`- deleted ${everyName}; the service has no registration left`);
}

/** Stops the run if what it is about to print is not so. */
function confirm(claim: string, holds: boolean, output = ""): void {
  if (!holds) throw new CommandError(`This should be so, and is not: ${claim}`, output);
}

const resourceLine = /^\s*[-+~]+\s+\S*ApiChatWebhook (\S+) (created|updated|deleted) \([^)]*\)(.*)$/gm;

/** The output of `up`, `refresh` or `destroy` must have exactly these webhooks so. Gives their differences, such as `[diff: ~webhookUrl]`. */
function confirmOperation(operation: string, names: readonly string[], output: string): string[] {
  const lines = [...output.matchAll(resourceLine)]
    .filter(([, , actual]) => actual === operation)
    .toSorted(([, left = ""], [, right = ""]) => left.localeCompare(right));
  const actual = lines.map(([, name]) => name);
  const claim = `pulumi prints that ${names.join(", ")} were ${operation}`;
  confirm(claim, isDeepStrictEqual(actual, [...names]), output);
  return lines.map(([, , , diff = ""]) => diff.trim());
}

/** What the examples export. */
async function readOutputs(
  shell: Shell,
): Promise<Record<"bot_url" | "status" | "environment", Record<string, string>>> {
  return JSON.parse(await shell.pulumi("stack output --json")) as Awaited<ReturnType<typeof readOutputs>>;
}

/** Verified at the service, with our URL and the workspace's own key. */
function isRegistered({ emulator, webhookUrl, keys }: Stage, name: WorkspaceName): boolean {
  const registration = emulator.workspace(name).registration;
  return (
    registration?.webhook_url === webhookUrl &&
    registration.webhook_verification_key === keys[name] &&
    registration.webhook_status === "verified"
  );
}
