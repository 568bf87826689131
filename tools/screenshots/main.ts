/**
 * `npm run screenshots`: makes the pictures of the inbox page anew, which docs/ shows. Times on them are those of the
 * run; all else is the same each time.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { startBrowser } from "../../test/support/browser.ts";
import { setStage, type Story } from "./stage.ts";
import stories from "./stories.json" with { type: "json" };

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
  await using stage = await setStage(story);
  await using context = await browser.newContext({
    locale,
    colorScheme,
    timezoneId: "America/Sao_Paulo",
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  await page.goto(`${stage.emulator.url}/_emulator/#workspace=acme`);
  await pose(page, story);
  await page.screenshot({ path: join(folder, file), scale: "css" });
  console.log(join(folder, file));
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
