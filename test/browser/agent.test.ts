import type { Page } from "playwright-core";
import type { OutboundMessage } from "pulumi-apichat/schema";
import { beforeAll, describe, expect, test } from "vitest";
import { begin, expectSoon, openInbox, startService, write, type Inbox, type Service } from "./harness.ts";
import { shownAs, shownMessages } from "./shown.ts";

describe("a conversation answered by an agent, in all seven kinds", () => {
  const addressed = { sender_id: "5511999990001", conv_id: 4711, message_type: "outgoing", private: false };
  let service: Service;
  let inbox: Inbox;

  beforeAll(async () => {
    service = await startService();
    inbox = await openInbox(service.emulator);
    await begin(inbox.page);
    await write(inbox.page, "Preciso de ajuda");
    await inbox.page.getByTestId("as-agent").check();
  });

  /** Sends what is filled in; the endpoint must receive it, and the page show it. */
  async function expectReply(fields: object): Promise<void> {
    const { page } = inbox;
    await page.getByTestId("agent-send").click();
    await expectSoon(() => service.endpoint.deliveries.at(-1)?.message).toEqual({ ...addressed, ...fields });
    const message = service.endpoint.deliveries.at(-1)?.message as OutboundMessage;
    await expectSoon(async () => (await shownMessages(page)).at(-1)).toEqual(shownAs("agent", message));
    await page.locator("article").last().getByText("delivered").waitFor();
  }

  test("a text", async () => {
    await inbox.page.getByTestId("agent-text").fill("Como posso ajudar?");
    await expectReply({ type: "text", text: "Como posso ajudar?" });
  });

  test("buttons", async () => {
    const { page } = inbox;
    await page.getByTestId("agent-kind").selectOption("button_template");
    await page.getByTestId("agent-text").fill("Qual plano?");
    await fillButton(page, 1, { title: "Básico", payload: "plan-basic" });
    await page.getByRole("button", { name: "Add button" }).click();
    await fillButton(page, 2, { title: "Completo", payload: "plan-full" });
    const buttons = [
      { type: "postback", title: "Básico", payload: "plan-basic" },
      { type: "postback", title: "Completo", payload: "plan-full" },
    ];
    const text = "Qual plano?";
    await expectReply({
      type: "text",
      text,
      content_type: "button_template",
      content_attributes: { text, buttons },
    });
  });

  test("a carousel of two cards", async () => {
    const { page } = inbox;
    const picture = `${service.emulator.url}/_emulator/samples/image.png`;
    const link = `${service.emulator.url}/_emulator/samples/file.txt`;
    await page.getByTestId("agent-kind").selectOption("generic_template");
    await page.getByTestId("agent-text").fill("Nossos planos");
    await page.getByRole("button", { name: "Add card" }).click();
    for (const number of [1, 2]) {
      const card = page.getByRole("group", { name: `Card ${number}` });
      await card.getByLabel("Title", { exact: true }).fill(`Plano ${number}`);
      await card.getByLabel("Subtitle").fill(`R$ ${number},00`);
      await card.getByLabel("Picture URL").fill(picture);
    }
    const second = page.getByRole("group", { name: "Card 2" });
    await second.getByLabel("Link URL").fill(link);
    await second.getByRole("button", { name: "Add button" }).click();
    await second.getByLabel("Title of button 1").fill("Quero");
    await second.getByLabel("Payload of button 1").fill("want-2");
    const card = { image_url: picture, item_url: null, default_action: null, buttons: [] };
    const button = { type: "postback", title: "Quero", payload: "want-2" };
    const items = [
      { ...card, title: "Plano 1", subtitle: "R$ 1,00" },
      { ...card, title: "Plano 2", subtitle: "R$ 2,00", item_url: link, buttons: [button] },
    ];
    await expectReply({
      type: "text",
      text: "Nossos planos",
      content_type: "generic_template",
      content_attributes: { ratio: "horizontal", items },
    });
  });

  test.each([
    ["image", "image.png"],
    ["audio", "audio.wav"],
    ["video", "video.webm"],
    ["file", "file.txt"],
  ])("media of kind %s", async (type, file) => {
    const url = `${service.emulator.url}/_emulator/samples/${file}`;
    await inbox.page.getByTestId("agent-kind").selectOption(type);
    await inbox.page.getByTestId("agent-url").fill(url);
    await expectReply({ type, url });
  });

  test("the contact presses a button of the agent", async () => {
    const { page } = inbox;
    await page.getByRole("button", { name: "Básico" }).click();
    await expectSoon(() => service.emulator.requests.at(-1)?.body).toMatchObject({
      submitted_values: [{ title: "Básico", payload: "plan-basic" }],
    });
    await page.locator("article[data-kind=postback]").waitFor();
    expect(inbox.problems).toEqual([]);
  });

  test("a second window shows each message as it comes", async () => {
    const { page, problems } = await openInbox(service.emulator);
    await page.getByTestId("conversations").getByRole("button").click();
    await expectSoon(async () => (await shownMessages(page)).length).toBe(9);
    await service.acme.send({
      event: "message_created",
      message_type: "incoming",
      content: "E mais uma coisa",
      conversation_id: 4711,
      sender: { id: "5511999990001", name: "Maria Souza", type: "contact" },
    });
    await page.getByTestId("log").getByText("E mais uma coisa").waitFor();
    await inbox.page.getByTestId("log").getByText("E mais uma coisa").waitFor();
    expect(problems).toEqual([]);
  });
});

async function fillButton(
  page: Page,
  number: number,
  { title, payload }: { title: string; payload: string },
): Promise<void> {
  await page.getByLabel(`Title of button ${number}`).fill(title);
  await page.getByLabel(`Payload of button ${number}`).fill(payload);
}
