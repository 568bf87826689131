/** `npm run screenshots`: takes the picture of the inbox page for docs/. The times on it are those of the run. */
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { MessageClient, RegistrationClient } from "pulumi-apichat/client";
import { startEmulator, type Scenario } from "pulumi-apichat/emulator";
import { startBrowser } from "../../test/support/browser.ts";
import { startEndpoint, VERIFICATION_KEY } from "../../test/support/endpoint.ts";
import story from "./story.json" with { type: "json" };

/** Fixed, because they can be read on the picture; not the defaults of `apichat emulator`. The story names the first. */
const PORTS = { port: 4010, botPort: 4011 };
const file = fileURLToPath(new URL("../../docs/images/inbox-light.png", import.meta.url));

await using resources = new AsyncDisposableStack();
const endpoint = resources.adopt(await startEndpoint({ port: 3000 }), (it) => it.close());
const options = {
  ...PORTS,
  flows: { pizzeria: story.scenario as Scenario },
  workspaces: [
    { name: "acme", apiKey: "acme-api-key", flow: "pizzeria" },
    { name: "globex", apiKey: "globex-api-key", flow: "echo" },
  ],
};
const emulator = resources.adopt(await startEmulator(options), (it) => it.close());

// The contacts write.
const { baseUrl, apiKey, botUrl, flowApiKey } = emulator.workspace("acme");
const registration = new RegistrationClient({ baseUrl, apiKey });
await registration.setWebhook({
  webhookUrl: `${endpoint.url}/webhook`,
  webhookVerificationKey: VERIFICATION_KEY,
});
const messages = new MessageClient({ botUrl, flowApiKey });
for (const [index, { name, text }] of story.others.entries()) {
  const sender = { id: `551190000000${index}`, name };
  await messages.sendText({ sender, conversationId: 4700 + index, text });
}
const maria = { sender: { id: "5511987654321", name: "Maria Souza" }, conversationId: 4711 };
await messages.sendText({ ...maria, text: story.greeting });
await emulator.waitForDelivery({ verdict: "delivered" });
await messages.sendButton({ ...maria, title: story.seeCards, payload: "cards" });
await emulator.waitForMessage(
  ({ body }) => "content_type" in body && body.content_type === "generic_template",
);

// An agent answers, and the exchange of that delivery is unfolded.
const started = resources.adopt(await startBrowser(), (it) => it.close());
const browser = resources.use(await chromium.connect(started.endpoint));
const page = await browser.newPage({
  locale: "en-US",
  timezoneId: "America/Sao_Paulo",
  viewport: { width: 1280, height: 800 },
  reducedMotion: "reduce",
});
await page.goto(`${emulator.url}/_emulator/#workspace=acme`);
await page.getByTestId("conversations").getByRole("button").first().click();
await page.getByTestId("as-agent").check();
await page.getByTestId("agent-text").fill(story.agent);
await page.getByTestId("agent-send").click();
const delivered = page.locator("[data-testid=exchange][data-kind=delivery][data-outcome=good]");
const newest = delivered.filter({ hasText: story.agent });
await newest.locator("summary").first().click();
await newest.getByTestId("resend").waitFor();
await page.getByTestId("as-contact").check();
await page.getByTestId("agent-text").waitFor({ state: "hidden" });
for (const picture of await page.locator("article img").all()) {
  await picture.evaluate((image) => image.decode());
}
await page.screenshot({ path: file, scale: "css" });
console.log(file);
