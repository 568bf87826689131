import { expect, test } from "vitest";
import { startEndpoint } from "../support/endpoint.ts";
import {
  begin,
  exchangesOf,
  expectSoon,
  lastBody,
  openService,
  registerAt,
  unfoldAll,
  write,
  type Inbox,
} from "./harness.ts";
import { HOSTILE, HOSTILE_ADDRESSES, hostileFlow, hostilePath, INTRUDERS, messagesWith } from "./hostile.ts";

/** Expects that no text has become markup. */
async function expectHarmless({ page, problems }: Inbox): Promise<void> {
  const intruders = page.locator("body").locator(INTRUDERS);
  expect(await intruders.evaluateAll((all) => all.map(({ outerHTML }) => outerHTML))).toEqual([]);
  expect(problems).toEqual([]);
}

test("text stays text in names, messages, buttons, cards, errors, exchanges and faults", async () => {
  const media = await startEndpoint();
  media.answerWith((_, response) => void response.writeHead(404).end(HOSTILE));
  const opened = await openService({ flow: hostileFlow(hostilePath(media.url)) });
  const { page, problems, acme, endpoint, emulator } = opened;
  await begin(page, { id: HOSTILE, name: HOSTILE });
  await write(page, HOSTILE);
  await expectSoon(() => page.getByTestId("message").count()).toBe(8);
  // Four messages: the contact's text, the flow's text, and the flow's two templates.
  expect(await page.locator("article .words").allInnerTexts()).toEqual(Array(4).fill(HOSTILE));
  expect(await page.getByTestId("conversations").innerText()).toContain(HOSTILE);
  await page.locator("article[data-kind=button_template]").getByTestId("postback").click();
  await expectSoon(() => lastBody(emulator)).toMatchObject({
    submitted_values: [{ title: HOSTILE, payload: HOSTILE }],
  });
  await page.locator("article[data-kind=button]").getByText(HOSTILE).first().waitFor();
  await write(page, "fail");
  await page.getByTestId("error").getByText("<script>").waitFor();

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
  emulator.injectFault({ operation: "get-webhook", fault: { statusField: HOSTILE } });
  await page.getByTestId("open-faults").click();
  await page.getByTestId("faults").getByText("<script>").waitFor();
  await expectHarmless({ page, problems });
});

test("an address that is not an http or https URL never becomes a link or a medium", async () => {
  const { page, problems } = await openService({ flow: "echo" }, { begun: true });
  await write(page, "Oi");
  await expectSoon(() => page.getByTestId("message").count()).toBe(2);
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
