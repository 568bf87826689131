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

/** A text that PHP's encoding escapes in the body. */
const TEXT = "Olá, qual é o preço?";

/** A conversation with a delivery that a fault has signed wrongly, and one that was accepted. */
async function openDeliveries(): Promise<Service & Inbox> {
  const opened = await openService({ flow: "echo", deliveryEncoding: "php" }, { begun: true });
  const { page, emulator } = opened;
  emulator.injectFault({ operation: "delivery", fault: "wrong-signature" });
  await write(page, "assinatura errada");
  await exchangesOf(page, "delivery", "invalid signature").waitFor();
  await write(page, TEXT);
  await exchangesOf(page, "delivery", TEXT).and(page.locator("[data-outcome=good]")).waitFor();
  return opened;
}

test("a failed handshake is shown live with its reason", async () => {
  const { page, acme, endpoint } = await openService();
  const wrong = await startEndpoint({ keys: "not-the-key-of-acme" });
  await expect(registerAt(acme, `${wrong.url}/wrong`)).rejects.toThrow("handshake");
  const exchange = await unfold(exchangesOf(page, "handshake", "failed"));
  await expectSoon(() => exchange.innerText()).toContain(`POST ${wrong.url}/wrong`);
  const text = await exchange.innerText();
  expect(await exchange.getAttribute("data-outcome")).toBe("bad");
  expect(text).toContain("Response · 401");
  expect(text).toContain(acme.handshakes.at(-1)?.reason);
  expect(text).toContain("Hint give the endpoint the same verification key");
  const registration = await page.getByTestId("registration").innerText();
  expect(registration).toContain(`${endpoint.url}/webhook`);
  expect(await page.getByTestId("workspaces").innerText()).toContain("verified");
});

test("a fault injected on the page fails one delivery, and is then spent", async () => {
  const { page, endpoint } = await openService({ flow: "echo" }, { begun: true });
  const opener = page.getByTestId("open-faults");
  await opener.click();
  await page.getByLabel("Operation", { exact: true }).selectOption("delivery");
  await page.getByLabel("What goes wrong").selectOption("wrong-signature");
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
  await opener.click();
  expect(await page.getByTestId("faults").innerText()).toBe("");
  await page.keyboard.press("Escape");

  await write(page, "assinatura certa");
  await exchangesOf(page, "delivery", "valid signature").and(page.locator("[data-outcome=good]")).waitFor();
  expect(endpoint.deliveries.map(({ message }) => message)).toMatchObject([{ text: "assinatura certa" }]);
});

test("a delivery shows its body indented or as sent, and is resent with a different body, signed or not", async () => {
  const { page, acme } = await openDeliveries();
  const exchange = await unfold(exchangesOf(page, "delivery", TEXT));
  const shown = exchange.getByTestId("body").first();
  expect(await shown.textContent()).toMatch(/^\{\n {2}"sender_id": "5511999990001",\n/);
  const withoutSpace = (await shown.textContent())?.replaceAll(/\n\s*|(?<=":) /g, "");
  expect(withoutSpace).toBe(acme.deliveries[1]?.request.body);

  for (const signed of [true, false]) {
    await exchange.getByTestId("edit").click();
    const dialog = page.getByRole("dialog");
    const body = dialog.getByRole("textbox", { name: "Body" });
    expect(await body.inputValue()).toBe(acme.deliveries[1]?.request.body);
    const edited = `{"edited":"à mão", "signed": ${signed}}`;
    await body.fill(edited);
    await dialog.getByRole("checkbox").setChecked(signed);
    await dialog.getByTestId("submit").click();
    await dialog.waitFor({ state: "hidden" });
    await expectSoon(() => acme.deliveries.at(-1)).toMatchObject({
      request: { body: edited },
      signature: signed ? "right" : "wrong",
      verdict: signed ? "delivered" : "failed",
    });
  }
});

test("the list is filtered by kind, by the open conversation, and by text in a body", async () => {
  const { page } = await openDeliveries();
  const expectKinds = (...kinds: string[]) =>
    expectSoon(async () => {
      const all = page.getByTestId("exchange");
      return new Set(await all.evaluateAll((found) => found.map((one) => one.dataset["kind"])));
    }).toEqual(new Set(kinds));
  const everything = ["handshake", "message", "delivery", "registration"];
  await expectKinds(...everything);
  await page.getByTestId("wire-kind").selectOption("handshake");
  await expectKinds("handshake");
  await page.getByTestId("wire-kind").selectOption("all");
  for (const [text, ...kinds] of [
    ["QUAL É O PREÇO", "delivery", "message"],
    ["hub_challenge=", "handshake"],
    ["/acme/apichat", "registration"],
    ["SET-webhook", "registration"],
    ['"webhook_status":"verified"', "registration"],
    ["nothing of this kind"],
    ["", ...everything],
  ] as const) {
    await page.getByLabel("Search URL, status, operation or body").fill(text);
    await expectKinds(...kinds);
  }
});

test("keys are masked everywhere until they are revealed", async () => {
  const { page, acme } = await openDeliveries();
  await unfoldAll(page);
  const secrets = { API_KEY, VERIFICATION_KEY, flowApiKey: acme.flowApiKey };
  await expectShown(page, secrets, []);
  await page.getByTestId("reveal").check();
  await expectShown(page, secrets, Object.keys(secrets));
  await page.getByTestId("reveal").uncheck();
  await expectShown(page, secrets, []);
});

test("keys that arrive after they were hidden again are not shown", async () => {
  const { page } = await openDeliveries();
  const hidden = Promise.withResolvers<void>();
  await page.route(/\/handshakes\?.*reveal=true/, (route) => hidden.promise.then(() => route.continue()));
  const [request] = await Promise.all([
    page.waitForRequest(/\/handshakes\?.*reveal=true/),
    page.getByTestId("reveal").check(),
  ]);
  // The page waits for the new stream without reloading.
  await page.route(/\/events\?$/, () => {});
  await page.getByTestId("reveal").uncheck();
  hidden.resolve();
  await (await request.response())?.finished();
  await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 50)))");
  // Including the text of closed folds.
  const text = await page.locator("body").textContent();
  expect([API_KEY, VERIFICATION_KEY].filter((key) => text?.includes(key))).toEqual([]);
});

async function expectShown(page: Page, secrets: Record<string, string>, names: string[]): Promise<void> {
  await expectSoon(async () => {
    const text = await page.locator("body").innerText();
    return Object.entries(secrets).flatMap(([name, secret]) => (text.includes(secret) ? [name] : []));
  }).toEqual(names);
}
