import type { Locator, Page } from "playwright-core";
import { test } from "vitest";
import { expectSoon, lastBody, openService } from "./harness.ts";

test("the keyboard is enough to start a conversation, write, press a button and inspect the exchange", async () => {
  const { page, ...service } = await openService({ flow: "menu" });
  const press = (key: string) => page.keyboard.press(key);

  await press("Tab");
  await press("Enter");
  await expectFocus(page, page.locator("main"));
  await tabTo(page, page.getByRole("link", { name: "Skip to the wire" }), "Shift+Tab");
  await press("Enter");
  await expectFocus(page, page.locator("aside"));

  const opener = page.getByTestId("new-conversation");
  await tabTo(page, opener, "Shift+Tab");
  await press("Enter");
  await expectFocus(page, page.getByLabel("Contact id"));
  await press("Escape");
  await expectFocus(page, opener);
  await press("Enter");
  await expectFocus(page, page.getByLabel("Contact id"));
  await press("Enter");
  await expectFocus(page, page.getByTestId("content"));

  await page.keyboard.type("Oi");
  await press("Shift+Enter");
  await page.keyboard.type("tudo bem?");
  await press("Enter");
  await expectSoon(() => lastBody(service.emulator)).toMatchObject({ content: "Oi\ntudo bem?" });

  const button = page.getByTestId("postback").filter({ hasText: "Carousel" });
  await button.waitFor();
  await tabTo(page, button, "Shift+Tab");
  await press("Space");
  await expectSoon(() => lastBody(service.emulator)).toMatchObject({ content: "Carousel" });

  await page.getByRole("button", { name: "Choose 1" }).waitFor();
  await tabTo(page, page.getByTestId("exchange").first().locator("summary").first());
  await press("Enter");
  const exchange = page.locator("[data-testid=exchange][open]");
  await expectSoon(() => exchange.getByRole("heading", { name: "Sent" }).count()).toBe(1);
  await tabTo(page, exchange.getByRole("button", { name: "Resend" }));
  await press("Enter");
  await expectSoon(() => service.endpoint.deliveries.length).toBe(3);
});

/** Presses Tab until the element has focus. */
async function tabTo(page: Page, element: Locator, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
  for (let presses = 0; presses < 80; presses += 1) {
    if (await hasFocus(page, element)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${String(element)} cannot be reached with ${key}`);
}

const hasFocus = async (page: Page, element: Locator): Promise<boolean> =>
  (await element.and(page.locator(":focus")).count()) === 1;

const expectFocus = (page: Page, element: Locator): Promise<void> =>
  expectSoon(() => hasFocus(page, element)).toBe(true);
