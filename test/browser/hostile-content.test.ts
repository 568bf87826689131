import type { Page } from "playwright-core";
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
  waitUntilLive,
  write,
  type Inbox,
  type Service,
} from "./harness.ts";
import { findIntruders } from "./intruders.ts";
import { hostileFlow } from "./hostile-flow.ts";
import { HOSTILE, HOSTILE_ADDRESSES, hostilePath } from "./hostile-texts.ts";
import { shownMessages } from "./shown.ts";

let service: Service;
let inbox: Inbox;

beforeAll(async () => {
  const media = await startEndpoint();
  closeAfterTests(() => media.close());
  media.answerWith((_, response) => void response.writeHead(404).end(HOSTILE));
  const flow = hostileFlow(hostilePath(media.url));
  service = await startService({ flows: { [HOSTILE]: flow }, flow: HOSTILE });
  inbox = await openInbox(service.emulator);
});

/** Nothing of what stands on the page came from a text. */
async function expectHarmless(): Promise<void> {
  expect(await findIntruders(inbox.page)).toEqual([]);
  expect(inbox.problems).toEqual([]);
}

describe("hostile texts stay texts", () => {
  test("of a contact: id, name, message", async () => {
    const { page } = inbox;
    await begin(page, { id: HOSTILE, name: HOSTILE });
    await write(page, HOSTILE);
    await expectSoon(async () => (await shownMessages(page)).length).toBe(8);
    expect((await shownMessages(page))[0]).toEqual(["contact", "text", HOSTILE]);
    expect(await page.getByTestId("conversations").innerText()).toContain(HOSTILE);
    await expectHarmless();
  });

  test("of a flow: texts, titles, payloads, cards, addresses of media, its name", async () => {
    const { page } = inbox;
    const shown = await shownMessages(page);
    expect(shown).toContainEqual(["flow", "text", HOSTILE]);
    expect(shown).toContainEqual(["flow", "buttons", HOSTILE, HOSTILE]);
    const flow = await page.getByTestId("flow").locator("option").allInnerTexts();
    expect(flow.some((name) => name.includes("<script>"))).toBe(true);
    await page.locator("article[data-kind=buttons]").getByTestId("postback").click();
    await expectSoon(() => service.emulator.requests.at(-1)?.body).toMatchObject({
      submitted_values: [{ title: HOSTILE, payload: HOSTILE }],
    });
    await page.locator("article[data-kind=postback]").getByText(HOSTILE).first().waitFor();
    await expectHarmless();
  });

  test("of a flow that fails", async () => {
    const { page } = inbox;
    await write(page, "fail");
    await page.getByTestId("errors").getByText("<script>").waitFor();
    await expectHarmless();
    await page.getByTestId("errors").getByRole("button").click();
  });

  test("of an endpoint: its address, headers and bodies, in handshakes and deliveries", async () => {
    const { page } = inbox;
    service.endpoint.answerWith((_, response) => {
      response.writeHead(500, { "content-type": "text/html", "x-hostile": HOSTILE }).end(HOSTILE);
    });
    const webhookUrl = hostilePath(service.endpoint.url);
    await expect(registerAt(service.acme, webhookUrl)).rejects.toThrow("handshake");
    service.acme.takeOver({ webhook_url: webhookUrl, webhook_verification_key: HOSTILE });
    await write(page, "once more");
    await page.locator("[data-testid=exchange][data-kind=delivery][data-outcome=bad]").waitFor();
    await openAll(page);
    await page.getByTestId("wire").getByText(HOSTILE).first().waitFor();
    await expectHarmless();
  });

  test("of requests from anywhere: address, headers, body", async () => {
    const { page } = inbox;
    const { baseUrl, botUrl } = service.acme;
    const before = service.emulator.requests.length;
    const query = `?action=${encodeURIComponent(HOSTILE)}&${encodeURIComponent(HOSTILE)}=1`;
    for (const url of [
      `${baseUrl}${query}`,
      `${botUrl}${query}`,
      `${botUrl}/${encodeURIComponent(HOSTILE)}`,
    ]) {
      await fetch(url, { method: "POST", headers: { "x-hostile": HOSTILE }, body: HOSTILE });
      await fetch(url, { method: "POST", body: JSON.stringify({ ChaveApi: API_KEY, [HOSTILE]: HOSTILE }) });
    }
    expect(service.emulator.requests.length).toBeGreaterThan(before);
    await openAll(page);
    await expectHarmless();
  });

  test("of faults, and of what they made the service answer", async () => {
    const { page } = inbox;
    for (const fault of [{ statusField: HOSTILE }, { status: 418, body: HOSTILE }, "html"] as const) {
      service.emulator.injectFault({ operation: "get-webhook", fault });
    }
    await page.getByTestId("open-faults").click();
    await expectSoon(() => page.getByTestId("faults").innerText()).toContain("<script>");
    await expectHarmless();
    await page.keyboard.press("Escape");
    for (let call = 0; call < 3; call += 1) {
      const body = JSON.stringify({ ChaveApi: API_KEY });
      const headers = { "content-type": "application/json" };
      await fetch(`${service.acme.baseUrl}?action=get-webhook`, { method: "POST", headers, body });
    }
    await expectSoon(() => page.getByTestId("wire").getByText("418").count()).toBeGreaterThan(0);
    await openAll(page);
    await expectHarmless();
  });

  test("of keys that are shown", async () => {
    const { page } = inbox;
    service.acme.apiKey = HOSTILE;
    service.acme.flowApiKey = HOSTILE.replaceAll(" ", "");
    await page.getByTestId("reveal").check();
    await expectSoon(() => page.getByTestId("registration").innerText()).toContain("<script>");
    await expectHarmless();
    await page.getByTestId("reveal").uncheck();
  });

  test.each(HOSTILE_ADDRESSES)("of a registration that somebody else made: %s", async (address) => {
    service.acme.takeOver({ webhook_url: address, webhook_verification_key: "k" });
    const shown = () => inbox.page.getByTestId("registration").innerText();
    await expectSoon(shown).toContain(address.includes("\t") ? "script:" : address.trim().slice(0, 12));
    expect(await inbox.page.getByTestId("registration").locator("a").count()).toBe(0);
    await expectHarmless();
  });

  test("no workspace can have such a name", () => {
    for (const field of ["name", "botCode", "path"]) {
      const options = { name: "other", apiKey: "k", [field]: HOSTILE };
      expect(() => service.emulator.addWorkspace(options)).toThrow(field);
    }
  });
});

describe("addresses that are no http or https URL", () => {
  test.each(["image", "audio", "video", "file"])("are refused as media of kind %s by hand", async (kind) => {
    const { page } = inbox;
    const before = (await shownMessages(page)).length;
    await page.getByTestId("contact-kind").selectOption(kind);
    await page.getByTestId("contact-url").fill(HOSTILE_ADDRESSES[0] ?? "");
    await page.getByTestId("contact-send").click();
    await page.getByTestId("errors").getByText("422").first().waitFor();
    await page.getByTestId("errors").getByRole("button").first().click();
    expect((await shownMessages(page)).length).toBe(before);
    // The browser itself tells of the refusal.
    expect(inbox.problems.splice(0)).toEqual([
      expect.stringMatching(/ 422 .*\/workspaces\/acme\/messages\)$/),
    ]);
    await expectHarmless();
  });

  test("never become a link or a medium, even if the emulator hands them out", async () => {
    const { page } = inbox;
    await page.route("**/_emulator/conversations/*/messages*", (route) =>
      route.fulfill({ json: HOSTILE_ADDRESSES.flatMap(messagesWith) }),
    );
    await page.reload();
    await waitUntilLive(page);
    const articles = page.getByTestId("message");
    await expectSoon(() => articles.count()).toBe(HOSTILE_ADDRESSES.length * 9);
    expect(await articles.locator("a, img, audio, video").count()).toBe(0);
    expect(await page.getByTestId("unsafe-url").count()).toBe(HOSTILE_ADDRESSES.length * 10);
    await expectHarmless();
  });
});

/** Unfolds all that is folded. */
async function openAll(page: Page): Promise<void> {
  const closed = page.locator("details:not([open]) > summary");
  while ((await closed.count()) > 0) await closed.first().click();
}

/** An address wherever a message can have one, as the control API shows messages. */
function messagesWith(address: string, index: number): object[] {
  const kinds = ["image", "audio", "video", "file"];
  const card = { title: HOSTILE, subtitle: HOSTILE, image_url: address, item_url: address };
  const button = { type: address, title: HOSTILE, payload: address, url: address };
  const items = [{ ...card, default_action: { type: "web_url", url: address }, buttons: [button] }];
  const bodies = [
    ...kinds.map((type) => ({ type, url: address })),
    ...kinds.map((file_type) => ({
      message_type: "incoming",
      event: "message_created",
      content: "",
      attachments: [{ file_type, data_url: address }],
    })),
    { type: "text", text: HOSTILE, content_type: "generic_template", content_attributes: { items } },
  ];
  return bodies.map((body, place) => ({
    id: `${index}-${place}`,
    order: index * 100 + place,
    at: new Date(0).toISOString(),
    workspace: "acme",
    conversation: "any",
    from: "flow",
    body,
    delivery: null,
  }));
}
