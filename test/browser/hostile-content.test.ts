import { describe, expect, test } from "vitest";
import { startEndpoint } from "../support/endpoint.ts";
import {
  API_KEY,
  begin,
  exchangesOf,
  expectSoon,
  lastBody,
  openService,
  registerAt,
  unfoldAll,
  write,
  type Inbox,
  type Service,
} from "./harness.ts";
import {
  findIntruders,
  HOSTILE,
  HOSTILE_ADDRESSES,
  hostileFlow,
  hostilePath,
  messagesWith,
} from "./hostile.ts";
import { shownMessages } from "./shown.ts";

/** The page with a hostile flow, in a conversation with a hostile contact. */
async function openHostile(): Promise<Service & Inbox> {
  const media = await startEndpoint();
  media.answerWith((_, response) => void response.writeHead(404).end(HOSTILE));
  const opened = await openService({ flow: hostileFlow(hostilePath(media.url)) });
  await begin(opened.page, { id: HOSTILE, name: HOSTILE });
  return opened;
}

/** Expects that no text has become markup. */
async function expectHarmless({ page, problems }: Inbox): Promise<void> {
  expect(await findIntruders(page)).toEqual([]);
  expect(problems).toEqual([]);
}

describe("text stays text", () => {
  test("in a conversation: names, messages, buttons, cards, addresses, errors", async () => {
    const { page, problems, emulator } = await openHostile();
    await write(page, HOSTILE);
    await expectSoon(async () => (await shownMessages(page)).length).toBe(8);
    const shown = await shownMessages(page);
    expect(shown[0]).toEqual(["contact", "text", HOSTILE]);
    expect(shown).toContainEqual(["flow", "text", HOSTILE]);
    expect(shown).toContainEqual(["flow", "button_template", HOSTILE, HOSTILE]);
    expect(await page.getByTestId("conversations").innerText()).toContain(HOSTILE);
    await page.locator("article[data-kind=button_template]").getByTestId("postback").click();
    await expectSoon(() => lastBody(emulator)).toMatchObject({
      submitted_values: [{ title: HOSTILE, payload: HOSTILE }],
    });
    await page.locator("article[data-kind=button]").getByText(HOSTILE).first().waitFor();
    await write(page, "fail");
    await page.getByTestId("error").getByText("<script>").waitFor();
    await expectHarmless({ page, problems });
  });

  test("in exchanges with an endpoint: address, headers and bodies, in handshakes and deliveries", async () => {
    const { page, problems, acme, endpoint } = await openHostile();
    endpoint.answerWith((_, response) => {
      response.writeHead(500, { "content-type": "text/html", "x-hostile": HOSTILE }).end(HOSTILE);
    });
    const webhookUrl = hostilePath(endpoint.url);
    await expect(registerAt(acme, webhookUrl)).rejects.toThrow("handshake");
    acme.takeOver({ webhook_url: webhookUrl, webhook_verification_key: "their-key" });
    await write(page, "once more");
    await exchangesOf(page, "delivery").and(page.locator("[data-outcome=bad]")).waitFor();
    await unfoldAll(page);
    await page.getByTestId("wire").getByText(HOSTILE).first().waitFor();
    await expectHarmless({ page, problems });
  });

  test("in requests and faults: addresses, headers, bodies", async () => {
    const { page, problems, acme, emulator } = await openHostile();
    const query = `?action=${encodeURIComponent(HOSTILE)}&${encodeURIComponent(HOSTILE)}=1`;
    const { baseUrl, botUrl } = acme;
    for (const url of [
      `${baseUrl}${query}`,
      `${botUrl}${query}`,
      `${botUrl}/${encodeURIComponent(HOSTILE)}`,
    ]) {
      await fetch(url, { method: "POST", headers: { "x-hostile": HOSTILE }, body: HOSTILE });
      await fetch(url, { method: "POST", body: JSON.stringify({ ChaveApi: API_KEY, [HOSTILE]: HOSTILE }) });
    }
    const faults = [{ statusField: HOSTILE }, { status: 418, body: HOSTILE }, "html"] as const;
    for (const fault of faults) emulator.injectFault({ operation: "get-webhook", fault });
    await page.getByTestId("open-faults").click();
    await expectSoon(() => page.getByTestId("faults").innerText()).toContain("<script>");
    await expectHarmless({ page, problems });
    await page.keyboard.press("Escape");
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ ChaveApi: API_KEY });
    for (const _ of faults) {
      await fetch(`${baseUrl}?action=get-webhook`, { method: "POST", headers, body });
    }
    await exchangesOf(page, "request", "418").waitFor();
    await unfoldAll(page);
    await expectHarmless({ page, problems });
  });

  test("in revealed keys and registrations", async () => {
    const { page, problems, acme, emulator } = await openHostile();
    for (const field of ["name", "botCode", "path"]) {
      expect(() => emulator.addWorkspace({ name: "other", apiKey: "k", [field]: HOSTILE })).toThrow(field);
    }
    const registration = page.getByTestId("registration");
    acme.apiKey = HOSTILE;
    acme.flowApiKey = HOSTILE.replaceAll(" ", "");
    await unfoldAll(page);
    await page.getByTestId("reveal").check();
    await expectSoon(() => registration.innerText()).toContain("<script>");
    for (const address of HOSTILE_ADDRESSES) {
      acme.takeOver({ webhook_url: address, webhook_verification_key: "k" });
      const shown = address.includes("\t") ? "script:" : address.trim().slice(0, 12);
      await expectSoon(() => registration.innerText()).toContain(shown);
      expect(await registration.locator("a").count()).toBe(0);
    }
    await expectHarmless({ page, problems });
  });
});

test("an address other than an http or https URL never becomes a link or a medium", async () => {
  const { page, problems } = await openService({ flow: "echo" }, { begun: true });
  await write(page, "Oi");
  await expectSoon(async () => (await shownMessages(page)).length).toBe(2);
  await page.route("**/_emulator/conversations/*/messages*", (route) =>
    route.fulfill({ json: HOSTILE_ADDRESSES.flatMap(messagesWith) }),
  );
  await page.getByTestId("conversations").getByRole("button").click();
  const articles = page.getByTestId("message");
  await expectSoon(() => articles.count()).toBe(HOSTILE_ADDRESSES.length * 9);
  expect(await articles.locator("a, img, audio, video").count()).toBe(0);
  expect(await page.getByTestId("unsafe-url").count()).toBe(HOSTILE_ADDRESSES.length * 10);
  await expectHarmless({ page, problems });
});
