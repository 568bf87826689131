import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import {
  API_KEY,
  begin,
  closeAfterTests,
  expectSoon,
  openInbox,
  startService,
  VERIFICATION_KEY,
  waitUntilLive,
  write,
  type Inbox,
  type Service,
} from "./harness.ts";
import { shownMessages } from "./shown.ts";

/** As PHP writes it, no text of more than ASCII stands in the body as it is read. */
const TEXT = "Olá, qual é o preço?";

let service: Service;
let inbox: Inbox;

/** A conversation with one delivery that a fault has signed wrongly, and one that was taken. */
beforeAll(async () => {
  service = await startService({ flow: "echo", deliveryEncoding: "php" });
  inbox = await openInbox(service.emulator, { permissions: ["clipboard-read", "clipboard-write"] });
  const { page } = inbox;
  await begin(page);
  service.emulator.injectFault({ operation: "delivery", fault: "wrong-signature" });
  await write(page, "assinatura errada");
  await deliveriesOf(page, "signature wrong").waitFor();
  await write(page, TEXT);
  await deliveriesOf(page, TEXT).and(page.locator("[data-outcome=good]")).waitFor();
});

describe("while the page shows masks", () => {
  test("a key is copied in clear, and stays masked", async () => {
    const { page } = inbox;
    await page.getByText("Addresses and keys").click();
    for (const [name, key] of [
      ["API key", API_KEY],
      ["Verification key", VERIFICATION_KEY],
      ["Flow API key", service.acme.flowApiKey],
    ] as const) {
      await page.getByRole("button", { name: `Copy ${name}`, exact: true }).click();
      await expectSoon(() => clipboard(page)).toBe(key);
      expect(await page.locator("body").innerText()).not.toContain(key);
      expect(page.url()).not.toContain(encodeURIComponent(key));
    }
    await page.getByTestId("done").getByText("secrets in clear").first().waitFor();
  });

  test.each([
    ["delivery", () => service.acme.deliveries.at(-1)?.headers["x-hub-signature-256"]],
    ["message", () => `Bearer ${service.acme.flowApiKey}`],
    ["handshake", () => new URLSearchParams({ "": VERIFICATION_KEY }).toString().slice(1)],
    ["registration", () => JSON.stringify(API_KEY).slice(1, -1)],
  ])("curl of a %s is copied with the secret that was sent", async (kind, secret) => {
    const exchange = exchangesOf(inbox.page, kind).first();
    await unfold(exchange);
    await exchange.getByRole("button", { name: "Copy as curl" }).click();
    await expectSoon(() => clipboard(inbox.page)).toContain(secret());
    expect(await exchange.innerText()).not.toContain(secret());
  });
});

describe("a delivery", () => {
  test("with a wrong signature is taken once it is signed again", async () => {
    const { page } = inbox;
    const before = service.endpoint.deliveries.length;
    const exchange = deliveriesOf(page, "assinatura errada").last();
    await unfold(exchange);
    await exchange.getByTestId("sign").click();
    await expectSoon(() => service.endpoint.deliveries.length).toBe(before + 1);
    expect(service.endpoint.deliveries.at(-1)?.message).toMatchObject({ text: "assinatura errada" });
    const again = deliveriesOf(page, "resent").filter({ hasText: "assinatura errada" });
    await expectSoon(() => again.getAttribute("data-outcome")).toBe("good");
  });

  test.each([true, false])("is sent with another body, signed: %s", async (signed) => {
    const { page } = inbox;
    const exchange = deliveriesOf(page, TEXT).last();
    await unfold(exchange);
    await exchange.getByTestId("edit").click();
    const dialog = page.getByRole("dialog");
    const body = dialog.getByRole("textbox", { name: "Body" });
    expect(await body.inputValue()).toBe(new TextDecoder().decode(service.acme.deliveries[1]?.sent));
    const edited = `{"edited":"à mão", "signed": ${signed}}`;
    await body.fill(edited);
    if (!signed) await dialog.getByRole("checkbox").uncheck();
    await dialog.getByRole("button", { name: "Send" }).click();
    await dialog.waitFor({ state: "hidden" });
    await expectSoon(() => service.acme.deliveries.at(-1)).toMatchObject({
      sent: Buffer.from(edited),
      signature: signed ? "right" : "wrong",
      verdict: signed ? "delivered" : "failed",
    });
  });
});

describe("the search", () => {
  test.each([
    ["QUAL É O PREÇO", ["delivery", "message"]],
    ["hub_challenge=", ["handshake"]],
    ['"webhook_status":"verified"', ["registration"]],
    ["nothing of this kind", []],
  ])("for %s finds what holds it, sent or received", async (text, kinds) => {
    const { page } = inbox;
    await page.getByLabel("Search in bodies").fill(text);
    const found = () =>
      page.getByTestId("exchange").evaluateAll((all) => all.map((one) => String(one.dataset["kind"])));
    await expectSoon(async () => new Set(await found())).toEqual(new Set(kinds));
    await expectSoon(() => page.getByText("No exchange matches.").count()).toBe(kinds.length === 0 ? 1 : 0);
    await page.getByLabel("Search in bodies").fill("");
    await expectSoon(async () => (await found()).length).toBeGreaterThan(kinds.length);
  });
});

test("a body is indented at first, and as it was sent after one click", async () => {
  const exchange = deliveriesOf(inbox.page, TEXT).last();
  await unfold(exchange);
  const sent = new TextDecoder().decode(service.acme.deliveries[1]?.sent);
  const body = exchange.getByTestId("body").first();
  expect(await body.textContent()).toMatch(/^\{\n {2}"sender_id": "5511999990001",\n/);
  await exchange.getByLabel("Indented").first().uncheck();
  await expectSoon(() => body.textContent()).toBe(sent);
});

describe("one exchange", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "apichat-saved-"));
    closeAfterTests(() => rm(folder, { recursive: true, force: true }));
  });

  test("is saved as JSON, with the masks that the page shows", async () => {
    const { id } = service.acme.deliveries[0] ?? {};
    const { name, text } = await save("json");
    expect(name).toBe(`delivery-${id}.json`);
    const answer = await fetch(`${service.emulator.url}/_emulator/deliveries/${id}`);
    expect(JSON.parse(text)).toEqual(await answer.json());
    expect(text).toContain("[redacted]");
  });

  test("is saved as HAR 1.2, which a browser answers from", async () => {
    const { id, sent } = service.acme.deliveries[0] ?? {};
    const { name, path, text } = await save("har");
    expect(name).toBe(`delivery-${id}.har`);
    expect(text).toContain("[redacted]");
    const { page } = await openInbox(service.emulator);
    await page.goto(`${service.endpoint.url}/`);
    await page.routeFromHAR(path);
    const received = service.endpoint.requests.length;
    const status = await page.evaluate(
      async (body) => (await fetch("/webhook", { method: "POST", body })).status,
      new TextDecoder().decode(sent),
    );
    expect(status).toBe(401);
    expect(service.endpoint.requests.length).toBe(received);
  });

  /** Saves the delivery with the wrong signature. */
  async function save(format: string): Promise<{ name: string; path: string; text: string }> {
    const { page } = inbox;
    const exchange = deliveriesOf(page, "assinatura errada").last();
    await unfold(exchange);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      exchange.getByRole("button", { name: `Save as ${format.toUpperCase()}` }).click(),
    ]);
    const path = join(folder, download.suggestedFilename());
    await download.saveAs(path);
    return { name: download.suggestedFilename(), path, text: await readFile(path, "utf8") };
  }
});

describe("a link", () => {
  test("to an exchange opens it beside its conversation, also in a page that is open", async () => {
    const exchange = deliveriesOf(inbox.page, "assinatura errada").last();
    await unfold(exchange);
    await exchange.getByRole("button", { name: "Copy link" }).click();
    const id = service.acme.deliveries[0]?.id;
    await expectSoon(() => clipboard(inbox.page)).toContain(`delivery=${id}`);
    const link = await clipboard(inbox.page);
    const other = await openInbox(service.emulator, { choice: "" });
    expect((await shownMessages(other.page)).length).toBe(0);
    await other.page.goto(link);
    await expectOpen(other.page, "assinatura errada");
    await expectSoon(() => other.page.getByTestId("message").count()).toBeGreaterThan(0);
    await other.page.reload();
    await waitUntilLive(other.page);
    await expectOpen(other.page, "assinatura errada");
    expect(other.page.url()).toBe(link);
    expect(other.problems).toEqual([]);
  });

  test("shows the wire where there is room for one part only", async () => {
    const choice = `workspace=acme&delivery=${service.acme.deliveries[0]?.id}`;
    const { page } = await openInbox(service.emulator, { choice, viewport: { width: 360, height: 800 } });
    await expectOpen(page, "assinatura errada");
  });

  test("to a conversation opens it", async () => {
    await inbox.page.getByRole("button", { name: "Copy link to this conversation" }).click();
    await expectSoon(() => clipboard(inbox.page)).toContain("#workspace=acme&conversation=");
    const link = await clipboard(inbox.page);
    const { page } = await openInbox(service.emulator, { choice: new URL(link).hash.slice(1) });
    await expectSoon(() => page.getByTestId("message").count()).toBeGreaterThan(0);
  });

  test("to an exchange that is older than the newest thousand opens it all the same", async () => {
    const { acme, emulator } = await startService();
    for (let call = 0; call <= 1000; call += 1) await fetch(acme.baseUrl, { method: "POST" });
    const choice = `workspace=acme&request=${emulator.requests[0]?.id}`;
    const { page } = await openInbox(emulator, { choice });
    await expectOpen(page, "set-webhook");
  });

  test("to what is no longer there says so", async () => {
    const { page } = await openInbox(service.emulator, { choice: "workspace=acme&delivery=d0" });
    await page.getByTestId("errors").getByText('there is no delivery "d0"').waitFor();
    await expectSoon(() => page.url()).toMatch(/#workspace=acme$/);
  });
});

test("the icon of the page is a picture that its policy lets it load", async () => {
  const { page, problems } = await openInbox(service.emulator);
  const width = await page.locator("link[rel=icon]").evaluate(async ({ href, ownerDocument }) => {
    const picture = ownerDocument.createElement("img");
    picture.src = href;
    await picture.decode();
    return picture.width;
  });
  expect(width).toBeGreaterThan(0);
  expect(problems).toEqual([]);
});

test("the browser has complained of nothing", () => {
  expect(inbox.problems).toEqual([]);
});

const exchangesOf = (page: Page, kind: string): Locator =>
  page.locator(`[data-testid=exchange][data-kind=${kind}]`);

const deliveriesOf = (page: Page, text: string): Locator =>
  exchangesOf(page, "delivery").filter({ has: page.locator("summary").filter({ hasText: text }) });

async function unfold(exchange: Locator): Promise<void> {
  if ((await exchange.getAttribute("open")) === null) await exchange.locator("summary").first().click();
}

const clipboard = (page: Page): Promise<string> => page.evaluate("navigator.clipboard.readText()");

const isInView = (exchange: Locator): Promise<boolean> =>
  exchange.evaluate((element) => {
    const { top, height } = element.getBoundingClientRect();
    return height > 0 && top >= 0 && top < 800;
  });

async function expectOpen(page: Page, text: string): Promise<void> {
  const opened = page.locator("[data-testid=exchange][open]").filter({ hasText: text });
  await opened.locator("summary:focus").first().waitFor();
  await expectSoon(() => isInView(opened)).toBe(true);
}
