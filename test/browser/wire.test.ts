import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { startEndpoint } from "../support/endpoint.ts";
import {
  API_KEY,
  begin,
  closeAfterTests,
  expectSoon,
  openInbox,
  registerAt,
  startService,
  VERIFICATION_KEY,
  write,
  type Inbox,
  type Service,
} from "./harness.ts";

let service: Service;
let inbox: Inbox;

beforeAll(async () => {
  service = await startService({ flow: "echo" });
  inbox = await openInbox(service.emulator, { permissions: ["clipboard-read", "clipboard-write"] });
  await begin(inbox.page);
});

describe("a handshake", () => {
  test("that passed is shown with what was sent, its token masked", async () => {
    const exchange = await openNewest(inbox.page, "handshake");
    const text = await exchange.innerText();
    expect(text).toContain("passed");
    expect(text).toContain(`POST ${service.endpoint.url}/webhook`);
    expect(text).toContain("hub_challenge=");
    expect(text).not.toContain(encodeURIComponent(VERIFICATION_KEY));
  });

  test("that fails on another key is shown live with its reason, and the registration stays", async () => {
    const wrong = await startEndpoint({ keys: "not-the-key-of-acme" });
    closeAfterTests(() => wrong.close());
    await expect(registerAt(service.acme, `${wrong.url}/wrong-key`)).rejects.toThrow("handshake");
    const exchange = await openNewest(inbox.page, "handshake");
    await expectSoon(() => exchange.getAttribute("data-outcome")).toBe("bad");
    const text = await exchange.innerText();
    expect(text).toContain("failed");
    expect(text).toContain(`POST ${wrong.url}/wrong-key`);
    expect(text).toContain("Answer received · 401");
    expect(text).toContain(service.acme.handshakes.at(-1)?.reason);
    const registration = await inbox.page.getByTestId("registration").innerText();
    expect(registration).toContain(`${service.endpoint.url}/webhook`);
    expect(registration).toContain("verified");
  });

  test("that is answered with another text says so", async () => {
    const wrong = await startEndpoint();
    closeAfterTests(() => wrong.close());
    wrong.answerWith((_, response) => void response.end("not the challenge"));
    await expect(registerAt(service.acme, `${wrong.url}/wrong-text`)).rejects.toThrow("handshake");
    const exchange = await openNewest(inbox.page, "handshake");
    await expectSoon(() => exchange.innerText()).toContain("/wrong-text");
    expect(await exchange.innerText()).toContain("not the challenge");
    expect(service.acme.handshakes.at(-1)?.reason).not.toBe("");
    expect(await exchange.innerText()).toContain(service.acme.handshakes.at(-1)?.reason);
  });
});

describe("a delivery", () => {
  test("struck by the fault wrong-signature is shown as wrongly signed and refused", async () => {
    const { page } = inbox;
    await page.getByTestId("open-faults").click();
    await page.getByTestId("fault-operation").selectOption("delivery");
    await page.getByTestId("fault-kind").selectOption("wrong-signature");
    await page.getByTestId("fault-add").click();
    await expectSoon(() => page.getByTestId("faults").innerText()).toContain("wrong-signature");
    await page.keyboard.press("Escape");
    await expectSoon(() => page.getByTestId("open-faults").innerText()).toContain("1 active");

    await write(page, "assinatura errada");
    const exchange = exchangeOf(page, "delivery", "assinatura errada");
    await expectSoon(() => exchange.locator("summary").innerText()).toContain("signature wrong");
    await expectSoon(() => exchange.getAttribute("data-outcome")).toBe("bad");
    expect(service.endpoint.deliveries).toEqual([]);
    await page.locator("article[data-from=flow]").getByText("delivery failed").waitFor();
    await expectSoon(() => page.getByTestId("open-faults").innerText()).not.toContain("active");
    await page.getByTestId("open-faults").click();
    expect(await page.getByTestId("faults").innerText()).toBe("");
    await page.getByText("Spent: 1").click();
    expect(await page.getByTestId("spent-faults").innerText()).toContain("wrong-signature");
    await page.keyboard.press("Escape");
  });

  test("after that is rightly signed again", async () => {
    const { page } = inbox;
    await write(page, "assinatura certa");
    const exchange = exchangeOf(page, "delivery", "assinatura certa");
    await expectSoon(() => exchange.locator("summary").innerText()).toContain("signature right");
    await expectSoon(() => service.endpoint.deliveries.map(({ message }) => message)).toMatchObject([
      { text: "assinatura certa" },
    ]);
  });

  test("is sent again byte for byte, with the signature that it had", async () => {
    const { page } = inbox;
    await resend(page, "assinatura errada");
    await expectSoon(() => exchangeOf(page, "delivery", "signature wrong").count()).toBe(2);
    await page.getByTestId("done").getByText("Sent again, byte for byte.").waitFor();
    await resend(page, "assinatura certa");
    await expectSoon(() => service.endpoint.deliveries.length).toBe(2);
    const [first, again] = service.endpoint.deliveries;
    expect(again?.rawBody).toEqual(first?.rawBody);
    await expectSoon(() => exchangeOf(page, "delivery", "resent").count()).toBe(2);
  });
});

test("copy as curl copies a command that the endpoint takes, while the page shows a mask", async () => {
  const command = await copyCurl(inbox.page);
  expect(command).toContain(`--url ${service.endpoint.url}/webhook`);
  const signature = /(x-hub-signature-256): (sha256=[0-9a-f]{64})/i.exec(command);
  const body = /--data-raw '(.*)'$/s.exec(command)?.[1] ?? "";
  expect(body).toContain('"text":"assinatura certa"');
  const before = service.endpoint.deliveries.length;
  const answer = await fetch(`${service.endpoint.url}/webhook`, {
    method: "POST",
    headers: { "content-type": "application/json", [signature?.[1] ?? ""]: signature?.[2] ?? "" },
    body,
  });
  expect(answer.status).toBe(200);
  expect(service.endpoint.deliveries.length).toBe(before + 1);
});

test("the list can be narrowed to a kind, and to the open conversation", async () => {
  const { page } = inbox;
  const kinds = () =>
    page.getByTestId("exchange").evaluateAll((all) => all.map((one) => one.dataset["kind"]));
  const wanted = page.getByTestId("wire-kind");
  await wanted.selectOption("handshake");
  expect(new Set(await kinds())).toEqual(new Set(["handshake"]));
  await wanted.selectOption("all");
  expect(new Set(await kinds())).toEqual(new Set(["handshake", "message", "delivery", "registration"]));
  await page.getByText("Only this conversation").click();
  await expectSoon(async () => new Set(await kinds())).toEqual(new Set(["message", "delivery"]));
  await page.getByText("Only this conversation").click();
});

test("keys are masked everywhere until they are asked for", async () => {
  const { page } = inbox;
  await openAll(page);
  const secrets = { API_KEY, VERIFICATION_KEY, flowApiKey: service.acme.flowApiKey };
  const shown = async () => {
    const text = await page.locator("body").innerText();
    return Object.entries(secrets).flatMap(([name, secret]) => (text.includes(secret) ? [name] : []));
  };
  expect(await shown()).toEqual([]);
  await page.getByTestId("reveal").check();
  await expectSoon(shown).toEqual(Object.keys(secrets));
  await page.getByTestId("reveal").uncheck();
  await expectSoon(shown).toEqual([]);
});

test("the browser has complained of nothing", () => {
  expect(inbox.problems).toEqual([]);
});

/** Unfolds every exchange and every fold of the page. */
async function openAll(page: Page): Promise<void> {
  const closed = page.locator("details:not([open]) > summary");
  while ((await closed.count()) > 0) await closed.first().click();
}

const exchangeOf = (page: Page, kind: string, text: string): Locator =>
  page.locator(`[data-testid=exchange][data-kind=${kind}]`).filter({ hasText: text });

/** Unfolds the newest exchange of a kind. */
async function openNewest(page: Page, kind: string): Promise<Locator> {
  await expectSoon(async () => page.locator(`[data-testid=exchange][data-kind=${kind}]`).count()).toBe(
    service.acme.handshakes.length,
  );
  const exchange = page.locator(`[data-testid=exchange][data-kind=${kind}]`).first();
  await exchange.locator("summary").first().click();
  await exchange.getByRole("heading", { name: "Sent" }).waitFor();
  return exchange;
}

/** Sends the first delivery of this text again. */
async function resend(page: Page, text: string): Promise<void> {
  const exchange = exchangeOf(page, "delivery", text).last();
  await exchange.locator("summary").first().click();
  await exchange.getByTestId("resend").click();
}

/** Copies the newest delivery, and gives what is on the clipboard. */
async function copyCurl(page: Page): Promise<string> {
  const newest = page.locator("[data-testid=exchange][data-kind=delivery]").first();
  if ((await newest.getAttribute("open")) === null) await newest.locator("summary").first().click();
  await newest.getByRole("button", { name: "Copy as curl" }).click();
  await page.getByTestId("done").getByText("Copied, secrets in clear.").first().waitFor();
  return page.evaluate("navigator.clipboard.readText()");
}
