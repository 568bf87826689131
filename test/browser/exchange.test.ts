import { text as readText } from "node:stream/consumers";
import { expect, test } from "vitest";
import {
  API_KEY,
  CLIPBOARD,
  clipboard,
  exchangesOf,
  expectSoon,
  openService,
  unfold,
  VERIFICATION_KEY,
  write,
  type Inbox,
  type Service,
} from "./harness.ts";

/** A conversation with one delivery. The page may use the clipboard. */
async function openDelivery(): Promise<Service & Inbox & { id: string }> {
  const opened = await openService({ flow: "echo" }, { begun: true, ...CLIPBOARD });
  await write(opened.page, "Oi");
  await exchangesOf(opened.page, "delivery").and(opened.page.locator("[data-outcome=good]")).waitFor();
  return { ...opened, id: opened.acme.deliveries[0]?.id ?? "" };
}

test("a key is copied unmasked while the page keeps showing masks", async () => {
  const { page, acme } = await openDelivery();
  await page.getByText("Addresses and keys").click();
  for (const [name, key] of [
    ["API key", API_KEY],
    ["Verification key", VERIFICATION_KEY],
    ["Flow API key", acme.flowApiKey],
  ] as const) {
    await page.getByRole("button", { name: `Copy ${name}`, exact: true }).click();
    await expectSoon(() => clipboard(page)).toBe(key);
    expect(await page.locator("body").innerText()).not.toContain(key);
    expect(page.url()).not.toContain(encodeURIComponent(key));
  }
  await page.getByTestId("done").getByText("in clear text").first().waitFor();
});

test("the endpoint accepts the request of a delivery's curl command", async () => {
  const { page, endpoint } = await openDelivery();
  const exchange = await unfold(exchangesOf(page, "delivery"));
  await exchange.getByRole("button", { name: "Copy as curl" }).click();
  await expectSoon(() => clipboard(page)).toContain(`--url ${endpoint.url}/webhook`);
  const command = await clipboard(page);
  const signature = /x-hub-signature-256: (sha256=[0-9a-f]{64})/i.exec(command)?.[1] ?? "";
  const body = /--data-raw '(.*)'$/s.exec(command)?.[1] ?? "";
  expect(body).toContain('"text":"Oi"');
  const headers = { "content-type": "application/json", "x-hub-signature-256": signature };
  const answer = await fetch(`${endpoint.url}/webhook`, { method: "POST", headers, body });
  expect(answer.status).toBe(200);
  expect(endpoint.deliveries.length).toBe(2);
});

test("one exchange is saved as JSON, with the same masks as the page", async () => {
  const { page, emulator, id } = await openDelivery();
  const exchange = await unfold(exchangesOf(page, "delivery"));
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    exchange.getByRole("link", { name: "Save as JSON" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`delivery-${id}.json`);
  const saved = await readText(await download.createReadStream());
  const answer = await fetch(`${emulator.url}/_emulator/deliveries/${id}`);
  expect(JSON.parse(saved)).toEqual(await answer.json());
  expect(saved).toContain("[redacted]");
});
