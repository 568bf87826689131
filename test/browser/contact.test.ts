import type { Page } from "playwright-core";
import type { OutboundMessage } from "pulumi-apichat/schema";
import { beforeAll, describe, expect, test } from "vitest";
import { begin, expectSoon, openInbox, startService, write, type Inbox, type Service } from "./harness.ts";
import { shownAs, shownMessages, type Shown } from "./shown.ts";

const MEDIA = {
  image: "image.png",
  audio: "audio.wav",
  video: "video.webm",
  file: "file.txt",
} as const;

/** What bot_url has received, oldest first. */
const received = ({ emulator }: Service): unknown[] =>
  emulator.requests.filter((entry) => entry.interface === "bot").map(({ body }) => body);

const shownFrom = async (page: Page, who: "contact" | "flow"): Promise<Shown[]> =>
  (await shownMessages(page)).filter(([from]) => from === who);

describe("a conversation as its contact, with the flow menu", () => {
  const sender = { id: "5511999990001", name: "Maria Souza", email: "", phone_number: "", type: "contact" };
  const common = { conversation_id: 4711, message_type: "incoming", sender };
  const addressOf = (kind: keyof typeof MEDIA) => `${service.emulator.url}/_emulator/samples/${MEDIA[kind]}`;
  let service: Service;
  let inbox: Inbox;

  beforeAll(async () => {
    service = await startService({ flow: "menu" });
    inbox = await openInbox(service.emulator);
    await begin(inbox.page);
  });

  test("a text reaches bot_url as it was written, and the reply appears without a reload", async () => {
    const text = 'Olá, "mundo" <b>&amp;</b>\nsegunda linha 🎉';
    await write(inbox.page, text);
    await expectSoon(() => received(service)).toEqual([
      { ...common, event: "message_created", content: text },
    ]);
    await expectSoon(() => shownMessages(inbox.page)).toEqual([
      ["contact", "text", text],
      [
        "flow",
        "buttons",
        "What would you like to see?",
        "Text",
        "Carousel",
        "Image",
        "Audio",
        "Video",
        "File",
      ],
    ]);
  });

  test("a press sends title and payload of the button", async () => {
    await inbox.page.getByRole("button", { name: "Carousel", exact: true }).click();
    await expectSoon(() => received(service)[1]).toEqual({
      ...common,
      event: "message_postback",
      content: "Carousel",
      submitted_values: [{ title: "Carousel", payload: "carousel" }],
    });
    await inbox.page.getByTestId("carousel").waitFor();
  });

  test("the carousel slides to its last card and back, and its buttons answer", async () => {
    const { page } = inbox;
    const position = page.getByTestId("carousel-position");
    const next = page.getByRole("button", { name: "Next card" });
    await next.click();
    await expectSoon(() => position.innerText()).toBe("Card 2 of 3");
    await next.click();
    await expectSoon(() => position.innerText()).toBe("Card 3 of 3");
    expect(await next.getAttribute("aria-disabled")).toBe("true");
    await page.getByRole("button", { name: "Previous card" }).click();
    await expectSoon(() => position.innerText()).toBe("Card 2 of 3");
    await page.getByRole("button", { name: "Choose 2" }).click();
    await page.getByText("You chose card 2.").first().waitFor();
  });

  test.each(["image", "audio", "video", "file"] as const)(
    "a URL of kind %s is sent and shown",
    async (kind) => {
      const { page } = inbox;
      const address = addressOf(kind);
      await page.getByTestId("contact-kind").selectOption(kind);
      await page.getByTestId("contact-url").fill(address);
      await page.getByTestId("contact-send").click();
      const attachments = [{ file_type: kind, data_url: address }];
      await expectSoon(() => received(service).at(-1)).toEqual({
        ...common,
        event: "message_created",
        content: "",
        attachments,
      });
      const shown = ["contact", "media", ...(kind === "file" ? [address] : [address, address])];
      await expectSoon(async () => (await shownFrom(page, "contact")).at(-1)).toEqual(shown);
    },
  );

  test("pictures, sounds and videos of contact and flow are loaded", async () => {
    const { page } = inbox;
    const menu = page.locator("article[data-kind=buttons]").last();
    for (const [index, kind] of ["Image", "Audio", "Video", "File"].entries()) {
      await menu.getByRole("button", { name: kind, exact: true }).click();
      await expectSoon(() => page.locator("article[data-from=flow][data-kind=media]").count()).toBe(
        index + 1,
      );
    }
    const pictures = page.locator("article img");
    const players = page.locator("article audio, article video");
    await expectSoon(() => players.evaluateAll((all) => all.map((one) => one.readyState > 0))).toEqual(
      Array(4).fill(true),
    );
    await expectSoon(() =>
      pictures.evaluateAll((all) => all.every((one) => one.complete && one.naturalWidth > 0)),
    ).toBe(true);
    expect(await pictures.count()).toBeGreaterThan(2);
  });

  test("what the endpoint received is what the page shows, each delivered and rightly signed", async () => {
    const { page } = inbox;
    const count = received(service).length;
    await expectSoon(() => service.endpoint.deliveries.length).toBe(count);
    const messages = service.endpoint.deliveries.map(({ message }) => message as OutboundMessage);
    await expectSoon(() => shownFrom(page, "flow")).toEqual(
      messages.map((message) => shownAs("flow", message)),
    );
    const lines = page.locator("[data-testid=exchange][data-kind=delivery][data-outcome=good] summary");
    await expectSoon(async () =>
      (await lines.allInnerTexts()).filter((line) => line.includes("signature right")),
    ).toHaveLength(count);
    const states = page.locator("article[data-from=flow] footer");
    for (const state of await states.allInnerTexts()) expect(state).toContain("delivered");
    expect(inbox.problems).toEqual([]);
  });
});
