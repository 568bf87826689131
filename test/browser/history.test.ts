import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { exchangesOf, expectSoon, openInbox, startService, type Service } from "./harness.ts";

let service: Service;

const sayTo = ({ acme }: Pick<Service, "acme">, text: string, conversation = 2): Promise<unknown> =>
  acme.send({
    event: "message_created",
    message_type: "incoming",
    content: text,
    conversation_id: conversation,
    sender: { id: `contact-${conversation}`, name: `Contact ${conversation}`, type: "contact" },
  });

/** A conversation with a failed delivery, and 1,001 later ones in a different conversation. */
beforeAll(async () => {
  service = await startService({ flow: "echo" });
  service.emulator.injectFault({ operation: "delivery", fault: { status: 503 } });
  await sayTo(service, "long ago", 1);
  await service.emulator.waitForDelivery({ verdict: "failed" });
  for (let sent = 0; sent <= 1000; sent += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, index) => sayTo(service, `later ${sent + index}`)));
  }
  await service.emulator.waitForDelivery(({ message, verdict }) => {
    return verdict === "delivered" && "text" in message && message.text === "later 1049";
  });
});

const search = (page: Page) => page.getByLabel("Search URL, status, operation or body");

test("a reply shows its verdict after a thousand later deliveries, and links to its delivery", async () => {
  const { page } = await openInbox(service.emulator);
  await page.getByTestId("conversations").getByRole("button", { name: "Contact 1" }).click();
  await page.getByRole("button", { name: "delivery failed" }).click();
  const exchange = page.locator("[data-testid=exchange][open]");
  await exchange.locator("summary:focus").first().waitFor();
  await expectSoon(() => exchange.innerText()).toContain("answered HTTP 503");
  await page.locator("article").getByText("long ago").first().waitFor();
  await search(page).fill("nothing like this");
  await page.getByText("No exchange matches.").waitFor();
  expect(await page.getByTestId("exchange").count()).toBe(0);
});

test("a search reports its range, and finds entries that the list omits", async () => {
  const { page } = await openInbox(service.emulator);
  await page
    .getByText("A search covers the newest 1,000 requests, handshakes and deliveries each.")
    .waitFor();
  expect(await page.getByTestId("exchange").count()).toBe(200);
  await search(page).fill("later 500");
  await exchangesOf(page, "delivery", "later 500").waitFor();
  await search(page).fill("long ago");
  await page.getByText("No exchange matches.").waitFor();
});

test("a workspace lists its conversations beside a workspace with a thousand newer ones", async () => {
  const { emulator, acme } = await startService();
  const globex = emulator.addWorkspace({ name: "globex", apiKey: "globex-key" });
  await sayTo({ acme: globex }, "Oi", 1);
  for (let sent = 0; sent <= 1000; sent += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, index) => sayTo({ acme }, "Oi", 2 + sent + index)));
  }
  const { page } = await openInbox(emulator);
  await page.getByTestId("workspaces").getByRole("button", { name: "globex" }).click();
  await page.getByTestId("conversations").getByRole("button", { name: "Contact 1" }).click();
  await expectSoon(() => page.locator("article").allInnerTexts()).toEqual([expect.stringContaining("Oi")]);
});
