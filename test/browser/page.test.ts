import { startEmulator } from "pulumi-apichat/emulator";
import { expect, test } from "vitest";
import { afterTests, freePort } from "../support/http.ts";
import { API_KEY, begin, expectSoon, openService, waitUntilLive, write } from "./harness.ts";
import { shownMessages } from "./shown.ts";

test("a draft survives a lost connection, and the page shows the state of a restarted emulator", async () => {
  const options = { port: await freePort(), flow: "echo" } as const;
  const { page, problems, emulator } = await openService(options, { begun: true });
  await write(page, "antes");
  await expectSoon(async () => (await shownMessages(page)).length).toBe(2);

  await emulator.close();
  await page.locator("[data-testid=connection][data-variant=danger]").waitFor();
  await page.getByTestId("contact-text").fill("depois");
  await page.getByTestId("contact-send").click();
  await page.getByTestId("error").getByText("Is the emulator still running?").waitFor();
  expect(await page.getByTestId("contact-text").inputValue()).toBe("depois");

  const restarted = await startEmulator({ ...options, workspaces: [{ name: "globex", apiKey: API_KEY }] });
  afterTests(() => restarted.close());
  await waitUntilLive(page);
  await expectSoon(() => page.getByTestId("workspaces").innerText()).toMatch(/^globex\s+not registered$/);
  await begin(page);
  await write(page, "depois");
  await expectSoon(() => shownMessages(page)).toEqual([
    ["contact", "text", "depois"],
    ["flow", "text", "depois"],
  ]);
  // The browser itself reports the lost connection.
  expect(problems.splice(0).filter((problem) => !problem.includes("net::ERR_"))).toEqual([]);
});

test.each([360, 1280])("at %i pixels, no notice covers the composer", async (width) => {
  const { page, emulator, problems } = await openService(
    {},
    { begun: true, viewport: { width, height: 800 } },
  );
  emulator.injectFault({ operation: "message", times: 4, fault: { status: 503 } });
  await write(page, "Oi");
  const notice = page.getByTestId("error").locator(".card");
  await notice.waitFor();
  const [shown, composer] = await Promise.all([
    notice.boundingBox(),
    page.locator("#composer").boundingBox(),
  ]);
  if (shown === null || composer === null) throw new Error("not shown");
  expect(shown.y + shown.height).toBeLessThan(composer.y);
  // The browser itself reports the rejected message.
  problems.splice(0);
});

test("a message and a conversation of an earlier day show the date, and ids have labels", async () => {
  const { page, acme } = await openService({ flow: "silent" });
  const sender = { id: "7", name: "Ana", type: "contact" } as const;
  const event = "message_created";
  await acme.send({ event, message_type: "incoming", content: "Oi", conversation_id: 2, sender });
  const conversations = page.getByTestId("conversations");
  await expectSoon(() => conversations.innerText()).toMatch(
    /^Ana\s+\d\d:\d\d\s+Contact 7 · Conversation 2 · 1 message$/,
  );
  await page.clock.setFixedTime(Date.now() + 2 * 86_400_000);
  await page.reload();
  await expectSoon(() => conversations.innerText()).toMatch(/^Ana\s+\w{3} \d+, \d\d:\d\d/);
  await conversations.getByRole("button").click();
  await expectSoon(() => page.getByTestId("message").locator("time").innerText()).toMatch(/^\w{3} \d+, /);
});
