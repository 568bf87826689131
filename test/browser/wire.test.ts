import { text as readText } from "node:stream/consumers";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { startEndpoint } from "../support/endpoint.ts";
import {
  API_KEY,
  exchangesOf,
  expectSoon,
  openService,
  registerAt,
  unfold,
  unfoldAll,
  VERIFICATION_KEY,
  write,
  type Inbox,
  type Service,
} from "./harness.ts";

/** Opens the page with an accepted delivery. */
async function openDelivery(): Promise<Service & Inbox> {
  const opened = await openService({ flow: "echo", deliveryEncoding: "php" }, { begun: true });
  await write(opened.page, "Olá");
  await exchangesOf(opened.page, "delivery", "Olá").and(opened.page.locator("[data-outcome=good]")).waitFor();
  return opened;
}

test("a failed handshake is shown live with its reason", async () => {
  const { page, acme } = await openService();
  const wrong = await startEndpoint({ keys: "not-the-key-of-acme" });
  await expect(registerAt(acme, `${wrong.url}/wrong`)).rejects.toThrow("handshake");
  const exchange = await unfold(exchangesOf(page, "handshake", "failed"));
  await expectSoon(() => exchange.innerText()).toContain(`POST ${wrong.url}/wrong`);
  const text = await exchange.innerText();
  expect(await exchange.getAttribute("data-outcome")).toBe("bad");
  expect(text).toContain("Response · 401");
  expect(text).toContain(acme.handshakes.at(-1)?.reason);
  expect(text).toContain("Hint give the endpoint the same verification key");
  expect(await page.getByTestId("workspaces").innerText()).toContain("verified");
});

test("a fault injected on the page makes one delivery fail, and is then used up", async () => {
  const { page, endpoint } = await openService({ flow: "echo" }, { begun: true });
  const opener = page.getByTestId("open-faults");
  await opener.click();
  await page.getByRole("combobox", { name: "Operation" }).selectOption("delivery");
  await page.getByRole("combobox", { name: "What goes wrong" }).selectOption("wrong-signature");
  await page.getByTestId("fault-add").click();
  await expectSoon(() => page.getByTestId("faults").innerText()).toContain("wrong-signature");
  await page.getByLabel("How many calls").fill("7");
  await page.getByTestId("fault-add").click();
  await expectSoon(() => page.getByTestId("faults").innerText()).toContain("7 left");
  await page.getByRole("button", { name: "Remove fault 2" }).click();
  await page.keyboard.press("Escape");
  await expectSoon(() => opener.innerText()).toContain("1 active");

  await write(page, "assinatura errada");
  const exchange = exchangesOf(page, "delivery", 'Injected fault: "wrong-signature"');
  await expectSoon(() => exchange.getAttribute("data-outcome")).toBe("bad");
  await unfold(exchange);
  await expectSoon(() => exchange.innerText()).toMatch(
    /Reason Injected fault: "wrong-signature" · answered HTTP 401/,
  );
  await page.locator("article[data-from=flow]").getByText("delivery failed").waitFor();
  expect(endpoint.deliveries).toEqual([]);
  await expectSoon(() => opener.innerText()).not.toContain("active");
  await write(page, "assinatura certa");
  await exchangesOf(page, "delivery", "valid signature").and(page.locator("[data-outcome=good]")).waitFor();
});

test("a delivery's body is indented; the delivery can be saved, masked as on the page, and resent", async () => {
  const { page, acme, emulator, endpoint } = await openDelivery();
  const exchange = await unfold(exchangesOf(page, "delivery"));
  const shown = await exchange.getByTestId("body").first().textContent();
  expect(shown).toMatch(/^\{\n {2}"sender_id": "5511999990001",\n/);
  expect(shown?.replaceAll(/\n\s*|(?<=":) /g, "")).toBe(acme.deliveries[0]?.request.body);

  const id = acme.deliveries[0]?.id ?? "";
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    exchange.getByRole("link", { name: "Save as JSON" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`delivery-${id}.json`);
  const saved = await readText(await download.createReadStream());
  expect(JSON.parse(saved)).toEqual(await (await fetch(`${emulator.url}/_emulator/deliveries/${id}`)).json());
  expect(saved).toContain("[redacted]");

  await exchange.getByRole("button", { name: "Resend" }).click();
  await exchangesOf(page, "delivery", "Delivery (resent)").and(page.locator("[open]")).waitFor();
  await expectSoon(() => endpoint.deliveries.length).toBe(2);
});

test("keys are masked everywhere until they are revealed", async () => {
  const { page, acme } = await openDelivery();
  await unfoldAll(page);
  const secrets = { API_KEY, VERIFICATION_KEY, flowApiKey: acme.flowApiKey };
  await expectShown(page, secrets, []);
  await page.getByTestId("reveal").check();
  await expectShown(page, secrets, Object.keys(secrets));
  await page.getByTestId("reveal").uncheck();
  await expectShown(page, secrets, []);
});

test("keys that arrive after the user has hidden them again are not shown", async () => {
  const { page } = await openDelivery();
  const hidden = Promise.withResolvers<void>();
  await page.route(/\/handshakes\?.*reveal=true/, (route) => hidden.promise.then(() => route.continue()));
  const [request] = await Promise.all([
    page.waitForRequest(/\/handshakes\?.*reveal=true/),
    page.getByTestId("reveal").check(),
  ]);
  // After "uncheck", the page opens a new stream. That gets no response, so the page does not reload its data.
  await page.route(/\/events\?$/, () => {});
  await page.getByTestId("reveal").uncheck();
  hidden.resolve();
  await (await request.response())?.finished();
  await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 50)))");
  // textContent includes the text of folded parts.
  const text = await page.locator("body").textContent();
  expect([API_KEY, VERIFICATION_KEY].filter((key) => text?.includes(key))).toEqual([]);
});

async function expectShown(page: Page, secrets: Record<string, string>, names: string[]): Promise<void> {
  await expectSoon(async () => {
    const text = await page.locator("body").innerText();
    return Object.entries(secrets).flatMap(([name, secret]) => (text.includes(secret) ? [name] : []));
  }).toEqual(names);
}
