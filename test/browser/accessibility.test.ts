import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { openInbox, startService, unfold, type Service } from "./harness.ts";

let service: Service;

/** Controls must be at least 24 by 24 pixels: success criterion 2.5.8 of WCAG 2.2. By default, axe skips it. */
const RULES = { rules: { "target-size": { enabled: true } } };

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
  emulator.injectFault({ operation: "message", fault: { status: 500 } });
});

const openConversation = async (page: Page): Promise<void> => {
  await page.getByTestId("conversations").getByRole("button").click();
  await page.getByRole("button", { name: "Choose 1" }).waitFor();
};

const unfoldWire = async (page: Page): Promise<void> => {
  for (const place of [0, 1, 2]) await unfold(page.getByTestId("exchange").nth(place));
};

test("axe finds nothing serious in the light theme, on a wide page with all parts visible", async () => {
  const { page } = await openInbox(service.emulator, { viewport: { width: 1280, height: 800 } });
  await openConversation(page);
  for (const fold of await page.locator("[data-testid=registration] summary").all()) await fold.click();
  await unfoldWire(page);
  await expectNoFindings(page, "everything unfolded");
  await expectNoFindingsIn(page, "open-faults");
});

test("axe finds nothing serious in the dark theme at 360 pixels, and nothing is cut off", async () => {
  const { page } = await openInbox(service.emulator, {
    colorScheme: "dark",
    viewport: { width: 360, height: 800 },
  });
  for (const dialog of ["new-conversation", "open-reset"]) await expectNoFindingsIn(page, dialog);
  await openConversation(page);
  await unfoldWire(page);
  const widths = await page
    .locator("html")
    .evaluate(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }));
  expect(widths).toEqual({ scrollWidth: 360, clientWidth: 360 });
  await expectNoFindings(page, "everything, one part below the other");
});

async function expectNoFindingsIn(page: Page, opener: string): Promise<void> {
  await page.getByTestId(opener).click();
  await page.getByRole("dialog").waitFor();
  // The page behind the dialog has already been checked.
  await expectNoFindings(page, opener, ":popover-open");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
}

/** Expects that axe-core finds nothing serious or critical; otherwise prints the rules and elements. */
async function expectNoFindings(page: Page, state: string, within = "html"): Promise<void> {
  // Outside "legacy" mode, axe opens a second page to collect findings from frames; the inbox has no frames.
  const { violations } = await new AxeBuilder({ page })
    .setLegacyMode()
    .options(RULES)
    .include(within)
    .analyze();
  const findings = violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => ({
      id,
      elements: nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`),
    }));
  expect({ state, findings }).toEqual({ state, findings: [] });
}
