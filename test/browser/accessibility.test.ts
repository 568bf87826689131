import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { openInbox, startService, type Service } from "./harness.ts";

let service: Service;

/** A conversation with every kind of message, a failed delivery and an active fault. */
beforeAll(async () => {
  service = await startService({ flow: "menu" });
  const { acme, emulator } = service;
  const party = {
    conversation_id: 4711,
    message_type: "incoming",
    sender: { id: "5511999990001", name: "Maria Souza", type: "contact" },
  } as const;
  await acme.send({ ...party, event: "message_created", content: "Oi" });
  for (const payload of ["text", "carousel", "image", "audio", "video", "file"]) {
    const submitted_values: [{ title: string; payload: string }] = [{ title: payload, payload }];
    await acme.send({ ...party, event: "message_postback", content: payload, submitted_values });
  }
  emulator.injectFault({ operation: "delivery", fault: "wrong-signature" });
  await acme.send({ ...party, event: "message_created", content: "assinatura errada" });
  await emulator.waitForDelivery({ signature: "wrong" });
  // The one before is spent by now, and listed beside it.
  emulator.injectFault({ operation: "message", fault: { status: 500 } });
});

describe.each(["light", "dark"] as const)("in %s", (colorScheme) => {
  describe.each(["en-US", "pt-BR"])("in %s", (locale) => {
    test.each([1280, 360])("at %i pixels axe finds nothing serious", { timeout: 240_000 }, async (width) => {
      const viewport = { width, height: 800 };
      const { page } = await openInbox(service.emulator, { colorScheme, locale, viewport });
      await showPanel(page, "workspaces");
      await page.getByTestId("conversations").getByRole("button").click();
      await page.getByTestId("carousel").waitFor();
      await expectNoFindings(page, "a conversation");
      await page.getByTestId("as-agent").check();
      await page.getByTestId("agent-kind").selectOption("generic_template");
      await expectNoFindings(page, "an agent writes a carousel");
      await showPanel(page, "workspaces");
      for (const fold of await page.locator("[data-testid=registration] summary").all()) await fold.click();
      await expectNoFindings(page, "the registration, unfolded");
      for (const dialog of ["new-workspace", "new-conversation", "open-faults", "open-reset"]) {
        await expectNoFindingsIn(page, dialog);
      }
      await showPanel(page, "wire");
      for (const place of [0, 1, 2])
        await page.getByTestId("exchange").nth(place).locator("summary").first().click();
      await expectNoFindings(page, "the wire, unfolded");
      await page.getByTestId("edit").first().click();
      await page.getByRole("dialog").waitFor();
      await expectNoFindings(page, "another body", "dialog[open]");
    });
  });
});

test("nothing of the page is cut off at 360 pixels", async () => {
  const { page } = await openInbox(service.emulator, { viewport: { width: 360, height: 800 } });
  for (const view of ["workspaces", "chat", "wire"]) {
    await page.getByTestId(`view-${view}`).click();
    const widths = await page
      .locator("html")
      .evaluate(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }));
    expect({ view, ...widths }).toEqual({ view, scrollWidth: 360, clientWidth: 360 });
  }
});

async function expectNoFindingsIn(page: Page, opener: string): Promise<void> {
  await page.getByTestId(opener).click();
  await page.getByRole("dialog").waitFor();
  for (const fold of await page.locator("dialog[open] summary").all()) await fold.click();
  // What is behind a dialog was looked at already.
  await expectNoFindings(page, opener, "dialog[open]");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
}

/** Where there is room for one part only, shows that one. */
async function showPanel(page: Page, name: string): Promise<void> {
  const tab = page.getByTestId(`view-${name}`);
  if (await tab.isVisible()) await tab.click();
}

/** Expects that axe-core finds nothing serious or critical; names the rules and elements otherwise. */
async function expectNoFindings(page: Page, state: string, within = "html"): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).include(within).analyze();
  const findings = violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => ({
      id,
      elements: nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`),
    }));
  expect({ state, findings }).toEqual({ state, findings: [] });
}
