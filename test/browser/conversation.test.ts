import { expect, test } from "vitest";
import { exchangesOf, expectSoon, openService, write, type Service } from "./harness.ts";

const SENDER = {
  id: "5511999990001",
  name: "Maria Souza",
  email: "",
  phone_number: "",
  type: "contact",
} as const;
const INCOMING = { conversation_id: 4711, message_type: "incoming", sender: SENDER } as const;
const OUTGOING = { sender_id: SENDER.id, conv_id: 4711, message_type: "outgoing", private: false } as const;

/** The bodies that bot_url received, oldest first. */
const received = ({ emulator }: Service): unknown[] =>
  emulator.requests
    .filter((entry) => entry.interface === "bot")
    .map(({ request }) => JSON.parse(request.body) as unknown);

test("a contact can write while a message is being sent", async () => {
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

test("a contact sends media of each kind", async () => {
  const { page, ...service } = await openService({}, { begun: true });
  const samples = { image: "image.png", audio: "audio.wav", video: "video.webm", file: "file.txt" };
  const media = Object.entries(samples).map(([kind, file]) => {
    return { file_type: kind, data_url: `${service.emulator.url}/_emulator/samples/${file}` };
  });
  for (const { file_type, data_url } of media) {
    await page.getByLabel("Kind").selectOption(file_type);
    await write(page, data_url);
    await page.locator(`article[data-kind=${file_type}] a[href="${data_url}"]`).waitFor();
  }
  const common = { ...INCOMING, event: "message_created", content: "" };
  expect(received(service)).toEqual(media.map((medium) => ({ ...common, attachments: [medium] })));
});

test("a contact writes, presses buttons, and sees every kind of reply as the endpoint received it", async () => {
  const { page, ...service } = await openService({ flow: "menu" }, { begun: true });
  const { deliveries } = service.endpoint;
  const text = 'Olá, "mundo" <b>&amp;</b>\nsegunda linha 🎉';
  await write(page, text);
  const menu = page.locator("article[data-kind=button_template]").first();
  for (const [index, kind] of ["Text", "Carousel", "Image", "Audio", "Video", "File"].entries()) {
    await menu.getByRole("button", { name: kind, exact: true }).click();
    await expectSoon(() => deliveries.length).toBe(index + 2);
  }
  const submitted_values = [{ title: "Text", payload: "text" }];
  expect(received(service).slice(0, 2)).toEqual([
    { ...INCOMING, event: "message_created", content: text },
    { ...INCOMING, event: "message_postback", content: "Text", submitted_values },
  ]);
  expect(await page.locator("article .words").first().innerText()).toBe(text);
  const replies = page.locator("article[data-from=flow]");
  await expectSoon(() => replies.evaluateAll((all) => all.map((one) => one.dataset["kind"]))).toEqual(
    deliveries.map(({ kind }) => kind),
  );
  expect(new Set(deliveries.map(({ kind }) => kind)).size).toBe(7);
  await expectSoon(() => replies.getByText("delivered", { exact: true }).count()).toBe(7);
  const valid = exchangesOf(page, "delivery", "valid signature").and(page.locator("[data-outcome=good]"));
  await expectSoon(() => valid.count()).toBe(7);
  const [, second] = await page.locator("article[data-kind=generic_template] .card").allInnerTexts();
  expect(second).toMatch(/Card 2\s+The card with number 2\s+Choose 2\s+Menu/);
  const players = page.locator("article audio, article video");
  await expectSoon(() => players.evaluateAll((all) => all.map((one) => one.readyState > 0))).toEqual([
    true,
    true,
  ]);
  const loaded = () =>
    page.locator("article img").evaluateAll((all) => all.filter((one) => one.naturalWidth > 0).length);
  await expectSoon(loaded).toBe(4);
  await page.locator("article[data-kind=file] a").getByText("file.txt").waitFor();
});

test("an agent replies with a text, which the endpoint receives", async () => {
  const { page, endpoint } = await openService({}, { begun: true });
  await write(page, "Preciso de ajuda");
  await page.getByLabel("Write as").selectOption("agent");
  await write(page, "Qual plano?");
  const message = { ...OUTGOING, type: "text", text: "Qual plano?" } as const;
  await expectSoon(() => endpoint.deliveries.at(-1)?.message).toEqual(message);
  const shown = page.locator("article[data-from=agent]");
  await expectSoon(() => shown.innerText()).toMatch(/^Qual plano\?\s+Agent.* delivered$/s);
});

test("a message appears when it arrives; a reply is shown as not delivered if there is no webhook", async () => {
  const { page, acme } = await openService({ flow: "echo" });
  acme.removeRegistration();
  await acme.send({ ...INCOMING, event: "message_created", content: "Oi" });
  await page.getByTestId("conversations").getByRole("button").click();
  await page.locator("article[data-from=flow]").getByText("not delivered").waitFor();
  expect(acme.deliveries).toEqual([]);
  await acme.send({ ...INCOMING, event: "message_created", content: "E mais uma coisa" });
  await page.locator("article[data-from=contact]").getByText("E mais uma coisa").waitFor();
});
