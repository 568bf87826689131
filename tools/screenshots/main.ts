/**
 * `npm run screenshots`: makes the pictures of the inbox page anew, which docs/ shows. Times on them are those of the
 * run; all else is the same each time.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { MessageClient, RegistrationClient } from "pulumi-apichat/client";
import { startEmulator, type Emulator, type Scenario } from "pulumi-apichat/emulator";
import { startBrowser } from "../../test/support/browser.ts";
import { startEndpoint, VERIFICATION_KEY } from "../../test/support/endpoint.ts";
import stories from "./stories.json" with { type: "json" };

/** What is said on a picture, in one language. */
type Story = (typeof stories)["english"];

interface Picture {
  file: string;
  story: Story;
  locale: string;
  colorScheme: "light" | "dark";
}

const PICTURES: readonly Picture[] = [
  { file: "inbox-light.png", story: stories.english, locale: "en-US", colorScheme: "light" },
  { file: "inbox-dark.png", story: stories.english, locale: "en-US", colorScheme: "dark" },
  { file: "inbox-pt.png", story: stories.portuguese, locale: "pt-BR", colorScheme: "light" },
];

/** Fixed, because they can be read on the pictures; none that `apichat emulator` takes by itself. The stories name the first. */
const PORTS = { port: 4010, botPort: 4011 };
const ENDPOINT_PORT = 3000;

const MARIA = { id: "5511987654321", name: "Maria Souza" };

const folder = fileURLToPath(new URL("../../docs/images", import.meta.url));

const { endpoint, close } = await startBrowser();
try {
  const browser = await chromium.connect(endpoint);
  for (const picture of PICTURES) await take(browser, picture);
  await browser.close();
} finally {
  await close();
}

async function take(browser: Browser, { file, story, locale, colorScheme }: Picture): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const own = resources.adopt(await startEndpoint({ port: ENDPOINT_PORT }), (it) => it.close());
  const options = {
    ...PORTS,
    flows: { pizzeria: story.scenario as Scenario },
    workspaces: [
      { name: "acme", apiKey: "acme-api-key", flow: "pizzeria" },
      { name: "globex", apiKey: "globex-api-key", flow: "echo" },
    ],
  };
  const emulator = resources.adopt(await startEmulator(options), (it) => it.close());
  await play(emulator, story, `${own.url}/webhook`);
  await using context = await browser.newContext({
    locale,
    colorScheme,
    timezoneId: "America/Sao_Paulo",
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  await page.goto(`${emulator.url}/_emulator/#workspace=acme`);
  await pose(page, story);
  await page.screenshot({ path: join(folder, file), scale: "css" });
  console.log(join(folder, file));
}

/** Registers, and lets the contacts write. */
async function play(emulator: Emulator, story: Story, webhookUrl: string): Promise<void> {
  const { baseUrl, apiKey, botUrl, flowApiKey } = emulator.workspace("acme");
  const registration = new RegistrationClient({ baseUrl, apiKey });
  await registration.setWebhook({ webhookUrl, webhookVerificationKey: VERIFICATION_KEY });
  const messages = new MessageClient({ botUrl, flowApiKey });
  for (const [index, { name, text }] of story.others.entries()) {
    const sender = { id: `551190000000${index}`, name };
    await messages.sendText({ sender, conversationId: 4700 + index, text });
  }
  const maria = { sender: MARIA, conversationId: 4711 };
  await messages.sendText({ ...maria, text: story.greeting });
  await emulator.waitForDelivery({ verdict: "delivered" });
  await messages.sendButton({ ...maria, title: story.seeCards, payload: "cards" });
  await emulator.waitForMessage(
    ({ body }) => "content_type" in body && body.content_type === "generic_template",
  );
}

/** An agent has just answered, and the delivery of it is unfolded. */
async function pose(page: Page, story: Story): Promise<void> {
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
}
