import { expect, test } from "vitest";
import { FOREIGN, startAcme, type Acme } from "../webhook/harness.js";
import {
  failureOf,
  isolatePlugins,
  programOf,
  secret,
  startCreated,
  startRun,
  webhook,
  type Marked,
} from "./harness.js";

// No error and no line shows a value that the program or the configuration marks as secret. The harness looks for keys.

const plugin = isolatePlugins();
const { checked } = webhook;

const HIDDEN = "geheim-0123456789";

/** The path of the workspace's address, which would appear in a text. */
const pathOf = ({ acme }: Acme): string => new URL(acme.baseUrl).pathname;

/** Starts acme with URLs that are secret as a whole, including their paths. */
async function startHidden(): Promise<Acme & { given: Marked }> {
  const started = await startAcme();
  const given = {
    baseUrl: secret(started.acme.baseUrl),
    webhookUrl: secret(`${started.args.webhookUrl}/${HIDDEN}`),
  };
  return { ...started, given };
}

test("a failed handshake does not show a secret URL", async () => {
  const started = await startHidden();
  const timeouts = { requestSeconds: 3, readySeconds: 0 };
  const webhookUrl = secret(`http://127.0.0.1:9/${HIDDEN}?token=1`);
  const inputs = await checked(programOf(started, { ...started.given, webhookUrl, timeouts }));
  const { details } = await failureOf(webhook.create(inputs));
  expect(details).toContain("the handshake with [redacted]");
  expect(details).not.toContain(HIDDEN);
  expect(details).not.toContain("127.0.0.1:9");
});

test("a conflict after a refresh shows the other URL without its query", async () => {
  const { id, inputs, outs, acme } = await startCreated();
  acme.takeOver({ ...FOREIGN, webhook_url: `${FOREIGN.webhook_url}?token=${HIDDEN}` });
  const seen = await webhook.read(id, outs, inputs);
  const { details } = await failureOf(webhook.update(id, seen?.outs ?? {}, inputs));
  expect(details).toContain(`now has the webhook ${FOREIGN.webhook_url}?token=***, not`);
  expect(details).not.toContain(HIDDEN);
});

test("the line of an adoption and the warning of a delete do not show secret URLs", async () => {
  const started = await startHidden();
  const inputs = await checked(programOf(started, started.given));
  const { outs, id } = await webhook.create(inputs);
  await startRun();
  await webhook.create(await checked(inputs));
  started.acme.takeOver(FOREIGN);
  await startRun();
  await webhook.delete(id, outs);
  const lines = plugin.lines.map(({ message }) => message).join("\n");
  expect(lines).toContain("adopted [redacted]");
  expect(lines).toContain("[redacted] now has the webhook");
  expect(lines).not.toContain(HIDDEN);
  expect(lines).not.toContain(pathOf(started));
});

test("a failure does not show a secret base URL of the configuration", async () => {
  const started = await startHidden();
  await plugin.configure({ baseUrl: secret(started.acme.baseUrl), apiKey: secret("ak-wrong-0123456789") });
  const { webhookUrl, webhookVerificationKey } = programOf(started, started.given);
  const inputs = await checked({ webhookUrl, webhookVerificationKey });
  const { details } = await failureOf(webhook.create(inputs));
  expect(details).toContain("HTTP 401");
  expect(details).not.toContain(pathOf(started));
  expect((await failureOf(plugin.invoke({}))).details).not.toContain(pathOf(started));
});
