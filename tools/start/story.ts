import { isDeepStrictEqual } from "node:util";
import { MessageClient } from "pulumi-apichat/client";
import { confirm, findLine, readOutputs, readResourceLines } from "./pulumi-output.ts";
import type { Shell } from "./shell.ts";
import { workspaceNames, type Stage, type WorkspaceName } from "./stage.ts";
import type { Terminal } from "./terminal.ts";

/** What a step of the story works with. */
export interface Scene {
  stage: Stage;
  shell: Shell;
  terminal: Terminal;
}

const changed: WorkspaceName = "globex";
const everyName = workspaceNames.join(", ");

/** `up` for three workspaces. */
export async function registerWebhooks({ stage, shell, terminal }: Scene): Promise<void> {
  terminal.heading("Three workspaces get a webhook (examples/workspaces)");
  shell.cd("workspaces");
  await shell.pulumi(["stack", "init", "dev"]);
  await shell.pulumi(["config", "set", "--secret", "apichat:apiKey"], stage.apiKey);
  for (const name of workspaceNames) {
    await shell.pulumi(["config", "set", "--secret", "--path", `verificationKeys.${name}`], stage.keys[name]);
  }
  const output = await shell.pulumi(["up", "--yes"]);
  confirmOperation("created", workspaceNames, output);
  confirm(
    "the service holds each workspace's own key",
    workspaceNames.every((name) => isRegistered(stage, name)),
    output,
  );
  terminal.result(`+ created ${everyName}`);

  const { bot_url, status } = readOutputs(await shell.pulumi(["stack", "output", "--json"]));
  for (const name of workspaceNames) {
    confirm(`${name} is verified`, status[name] === "verified");
    confirm(`${name} has its bot_url`, bot_url[name] === stage.emulator.workspace(name).botUrl);
    terminal.result(`${name.padEnd(8)} status ${status[name]}  bot_url ${bot_url[name]}`);
  }
}

/** A contact writes to bot_url, and the service posts the flow's signed reply to the webhook. */
export async function exchangeMessages({ stage, terminal }: Scene): Promise<void> {
  terminal.heading(
    "A contact writes in acme: the chat posts it to bot_url, and the flow's reply comes to the webhook",
  );
  const { emulator, receiver } = stage;
  const { botUrl, flowApiKey } = emulator.workspace("acme");
  const client = new MessageClient({ botUrl, flowApiKey });
  const text = "Where is my parcel?";
  const sender = { id: "contact-1", name: "Ana" };
  const { httpStatus } = await client.sendText({ sender, conversationId: 1, text });
  terminal.result(`"${text}" sent, answered ${httpStatus}`);
  const { verdict, status, reason } = await emulator.waitForDelivery({ workspace: "acme" });
  const received = receiver.deliveries.at(-1);
  confirm("the reply is delivered", verdict === "delivered", reason);
  confirm("it is the menu of the flow", received?.kind === "button_template");
  confirm("acme's key has signed it", received?.keyIndex === workspaceNames.indexOf("acme"));
  const buttons = received?.kind === "button_template" ? received.message.content_attributes.buttons : [];
  const titles = buttons.map(({ title }) => title).join(", ");
  terminal.result(
    `a reply with the buttons ${titles} arrived, answered ${status}; signature verified with the key of acme`,
  );
}

/** Somebody changes a registration: `refresh` shows it, `preview` names it, `up` repairs it. */
export async function repairDrift({ stage, shell, terminal }: Scene): Promise<void> {
  const ours = stage.receiver.url;
  const other = `${ours}/somebody-else`;
  terminal.heading(`Somebody changes the webhook of ${changed} behind our back, to ${other}`);
  stage.emulator.workspace(changed).change({ webhook_url: other });

  const refreshed = await shell.pulumi(["refresh", "--yes"]);
  const [line] = readResourceLines(refreshed).filter(({ operation }) => operation === "updated");
  confirm(
    `refresh shows that webhookUrl of ${changed} has changed`,
    line?.name === changed && line.diff.includes("webhookUrl"),
    refreshed,
  );
  terminal.result(`~ ${changed} ${line?.diff}`);

  const preview = await shell.pulumi(["preview", "--diff"]);
  const difference = findLine(preview, "~ webhookUrl");
  confirm(
    "preview names both URLs",
    difference?.includes(`"${other}" => "${ours}"`) === true &&
      preview.includes(`ApiChatWebhook::${changed}`),
    preview,
  );
  terminal.result(`${difference?.replace(/\s+/g, " ")}`);

  const repaired = await shell.pulumi(["up", "--yes"]);
  confirmOperation("updated", [changed], repaired);
  confirm("the service has our URL again", isRegistered(stage, changed), repaired);
  terminal.result(`~ updated ${changed}; the service has our URL again`);
}

/** Another stack reads the bot URLs. */
export async function readFromAnotherStack({ stage, shell, terminal }: Scene): Promise<void> {
  terminal.heading("Another stack reads bot_url (examples/consumer)");
  shell.cd("consumer");
  await shell.pulumi(["stack", "init", "dev"]);
  await shell.pulumi(["config", "set", "workspacesStack", "organization/apichat-workspaces/dev"]);
  const output = await shell.pulumi(["up", "--yes"]);
  const { bot_url } = readOutputs(await shell.pulumi(["stack", "output", "--json"]));
  const expected = Object.fromEntries(
    workspaceNames.map((name) => [name, stage.emulator.workspace(name).botUrl]),
  );
  confirm("the other stack has the bot_url of each workspace", isDeepStrictEqual(bot_url, expected), output);
  terminal.result(`bot_url of ${everyName}: the same as above`);
}

/** `destroy` of both stacks. */
export async function destroyAll({ stage, shell, terminal }: Scene): Promise<void> {
  terminal.heading("Everything goes");
  await shell.pulumi(["destroy", "--yes"]);
  shell.cd("workspaces");
  const output = await shell.pulumi(["destroy", "--yes"]);
  confirmOperation("deleted", workspaceNames, output);
  const left = workspaceNames.filter((name) => stage.emulator.workspace(name).registration !== undefined);
  confirm(`nothing is registered in ${left.join(", ")}`, left.length === 0, output);
  terminal.result(`- deleted ${everyName}; the service has no registration left`);
}

function confirmOperation(operation: string, names: readonly string[], output: string): void {
  const done = readResourceLines(output).filter((line) => line.operation === operation);
  confirm(
    `pulumi says that ${names.join(", ")} were ${operation}`,
    isDeepStrictEqual(
      done.map(({ name }) => name),
      names,
    ),
    output,
  );
}

/** Verified at the service, with our URL and the workspace's own key. */
function isRegistered({ emulator, receiver, keys }: Stage, name: WorkspaceName): boolean {
  const registration = emulator.workspace(name).registration;
  return (
    registration?.webhook_url === receiver.url &&
    registration.webhook_verification_key === keys[name] &&
    registration.webhook_status === "verified"
  );
}
