import type { OutboundMessage } from "pulumi-apichat/schema";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { exchangesOf, expectSoon, openService, write, type Service } from "./harness.ts";
import { shownAs, shownMessages, type Shown } from "./shown.ts";

const SENDER = {
  id: "5511999990001",
  name: "Maria Souza",
  email: "",
  phone_number: "",
  type: "contact",
} as const;
const INCOMING = { conversation_id: 4711, message_type: "incoming", sender: SENDER } as const;
const OUTGOING = { sender_id: SENDER.id, conv_id: 4711, message_type: "outgoing", private: false } as const;
const MEDIA = { image: "image.png", audio: "audio.wav", video: "video.webm", file: "file.txt" } as const;
const KINDS = ["image", "audio", "video", "file"] as const;

const sampleOf = ({ emulator }: Service, kind: keyof typeof MEDIA): string =>
  `${emulator.url}/_emulator/samples/${MEDIA[kind]}`;

/** The bodies at bot_url, oldest first. */
const received = ({ emulator }: Service): unknown[] =>
  emulator.requests
    .filter((entry) => entry.interface === "bot")
    .map(({ request }) => JSON.parse(request.body) as unknown);

const shownFrom = async (page: Page, who: "contact" | "flow"): Promise<Shown[]> =>
  (await shownMessages(page)).filter(([from]) => from === who);

describe("a contact, with the flow menu", () => {
  test("can write while a message is being sent", async () => {
    const { page, ...service } = await openService({}, { begun: true });
    const typed = Promise.withResolvers<void>();
    await page.route(/\/messages$/, (route) => typed.promise.then(() => route.continue()));
    await write(page, "first");
    await page.getByTestId("content").fill("second");
    typed.resolve();
    await expectSoon(() => received(service).length).toBe(1);
    await page.locator("form[aria-busy=true]").waitFor({ state: "detached" });
    expect(await page.getByTestId("content").inputValue()).toBe("second");
  });

  test("sends media of every kind", async () => {
    const { page, ...service } = await openService({}, { begun: true });
    for (const kind of KINDS) {
      const address = sampleOf(service, kind);
      await page.getByLabel("Kind").selectOption(kind);
      await write(page, address);
      const attachments = [{ file_type: kind, data_url: address }];
      const body = { ...INCOMING, event: "message_created", content: "", attachments };
      await expectSoon(() => received(service).at(-1)).toEqual(body);
      const shown = ["contact", kind, ...(kind === "file" ? [address] : [address, address])];
      await expectSoon(async () => (await shownMessages(page)).at(-1)).toEqual(shown);
    }
  });

  test("writes, presses buttons, and sees all seven kinds as the endpoint received them", async () => {
    const { page, ...service } = await openService({ flow: "menu" }, { begun: true });
    const text = 'Olá, "mundo" <b>&amp;</b>\nsegunda linha 🎉';
    await write(page, text);
    const menu = page.locator("article[data-kind=button_template]").first();
    for (const [index, kind] of ["Text", "Carousel", "Image", "Audio", "Video", "File"].entries()) {
      await menu.getByRole("button", { name: kind, exact: true }).click();
      await expectSoon(() => service.endpoint.deliveries.length).toBe(index + 2);
    }
    const submitted_values = [{ title: "Text", payload: "text" }];
    expect(received(service).slice(0, 2)).toEqual([
      { ...INCOMING, event: "message_created", content: text },
      { ...INCOMING, event: "message_postback", content: "Text", submitted_values },
    ]);
    expect((await shownMessages(page))[0]).toEqual(["contact", "text", text]);
    const messages = service.endpoint.deliveries.map(({ message }) => message as OutboundMessage);
    expect(new Set(messages.map(({ type }) => type))).toEqual(new Set(["text", ...KINDS]));
    await expectSoon(() => shownFrom(page, "flow")).toEqual(
      messages.map((message) => shownAs("flow", message)),
    );
    const delivered = exchangesOf(page, "delivery", "valid signature").and(
      page.locator("[data-outcome=good]"),
    );
    await expectSoon(() => delivered.count()).toBe(messages.length);
    await expectSoon(() =>
      page.locator("article[data-from=flow]").getByText("delivered", { exact: true }).count(),
    ).toBe(messages.length);
    const players = page.locator("article audio, article video");
    await expectSoon(() => players.evaluateAll((all) => all.map((one) => one.readyState > 0))).toEqual([
      true,
      true,
    ]);
    const pictures = page.locator("article img");
    await expectSoon(() =>
      pictures.evaluateAll((all) => all.every((one) => one.complete && one.naturalWidth > 0)),
    ).toBe(true);
    expect(await pictures.count()).toBeGreaterThan(2);
  });
});

test("an agent replies with a text, which the endpoint receives", async () => {
  const { page, endpoint } = await openService({}, { begun: true });
  await write(page, "Preciso de ajuda");
  await page.getByLabel("Write as").selectOption("agent");
  await write(page, "Qual plano?");
  const message = { ...OUTGOING, type: "text", text: "Qual plano?" } as const;
  await expectSoon(() => endpoint.deliveries.at(-1)?.message).toEqual(message);
  await expectSoon(async () => (await shownMessages(page)).at(-1)).toEqual(shownAs("agent", message));
  await page.locator("article").last().getByText("delivered").waitFor();
});

test("a message is shown when it arrives, and a reply without a webhook as not delivered", async () => {
  const { page, acme } = await openService({ flow: "echo" });
  acme.removeRegistration();
  await acme.send({ ...INCOMING, event: "message_created", content: "Oi" });
  await page.getByTestId("conversations").getByRole("button").click();
  await page.locator("article[data-from=flow]").getByText("not delivered").waitFor();
  expect(acme.deliveries).toEqual([]);
  await acme.send({ ...INCOMING, event: "message_created", content: "E mais uma coisa" });
  await page.locator("article[data-from=contact]").getByText("E mais uma coisa").waitFor();
});
