import { startEmulator } from "pulumi-apichat/emulator";
import { expect, test } from "vitest";
import { afterTests, freePort } from "../support/http.ts";
import {
  API_KEY,
  begin,
  expectSoon,
  openInbox,
  openService,
  startService,
  VERIFICATION_KEY,
  waitUntilLive,
  write,
} from "./harness.ts";

test("a draft survives a lost connection, and the page shows the state of a restarted emulator", async () => {
  const options = { port: await freePort(), flow: "echo" } as const;
  const { page, problems, emulator } = await openService(options, { begun: true });
  await write(page, "antes");
  const texts = () => page.locator("article .words").allInnerTexts();
  await expectSoon(texts).toEqual(["antes", "antes"]);

  await emulator.close();
  await page.locator("[data-testid=connection][data-variant=danger]").waitFor();
  await write(page, "depois");
  await page.getByTestId("error").getByText("Is the emulator still running?").waitFor();
  expect(await page.getByTestId("content").inputValue()).toBe("depois");

  const restarted = await startEmulator({ ...options, workspaces: [{ name: "globex", apiKey: API_KEY }] });
  afterTests(() => restarted.close());
  await waitUntilLive(page);
  await expectSoon(() => page.getByTestId("workspaces").innerText()).toMatch(/^globex\s+not registered$/);
  await begin(page);
  await write(page, "depois");
  await expectSoon(texts).toEqual(["depois", "depois"]);
  // The browser itself reports the lost connection.
  expect(problems.splice(0).filter((problem) => !problem.includes("net::ERR_"))).toEqual([]);
});

test("a workspace shows its old conversations and deliveries, in spite of a thousand newer ones", async () => {
  const { emulator, acme } = await startService({ flow: "echo" });
  const globex = emulator.addWorkspace({ name: "globex", apiKey: API_KEY });
  const say = (workspace: typeof acme, content: string, conversation: number): Promise<unknown> =>
    workspace.send({
      event: "message_created",
      message_type: "incoming",
      content,
      conversation_id: conversation,
      sender: { id: "7", name: `Contact ${conversation}`, type: "contact" },
    });
  await say(globex, "Oi", 1);
  emulator.injectFault({ operation: "delivery", fault: { status: 503 } });
  await say(acme, "long ago", 0);
  await emulator.waitForDelivery({ verdict: "failed" });
  for (let sent = 1; sent < 1000; sent += 37) {
    await Promise.all(Array.from({ length: 37 }, (_, index) => say(acme, "later", sent + index)));
  }
  const { page } = await openInbox(emulator);
  await expectSoon(() => page.getByTestId("exchange").count()).toBe(200);
  await page.getByTestId("conversations").getByRole("button", { name: "Contact 0" }).click();
  await page.getByRole("button", { name: "delivery failed" }).click();
  const exchange = page.locator("[data-testid=exchange][open]");
  await exchange.locator("summary:focus").first().waitFor();
  await expectSoon(() => exchange.innerText()).toContain("answered HTTP 503");

  await page.getByTestId("workspaces").getByRole("button", { name: "globex" }).click();
  await page.getByTestId("conversations").getByRole("button", { name: "Contact 1" }).click();
  await page.locator("article[data-from=contact]").getByText("Oi").waitFor();
});

test("a newly chosen flow replies from then on, and a function can be chosen again", async () => {
  const { page, acme } = await openService({ flow: () => [] }, { begun: true });
  const flow = page.getByLabel("Flow that replies");
  await flow.selectOption("menu");
  await expectSoon(() => acme.flow).toBe("menu");
  await write(page, "Oi");
  await page.locator("article[data-kind=button_template]").waitFor();
  await flow.selectOption("custom");
  await expectSoon(() => typeof acme.flow).toBe("function");
});

test("a reset empties the page, and keeps workspace and registration", async () => {
  const { page, endpoint } = await openService({ flow: "echo" }, { begun: true });
  await write(page, "Oi");
  await page.getByRole("button", { name: "delivered" }).click();
  await page.locator("[data-testid=exchange][open]").waitFor();
  await page.getByTestId("open-reset").click();
  await page.getByRole("dialog").getByTestId("submit").click();
  await page.getByTestId("done").getByText("The emulator is reset.").waitFor();
  await expectSoon(() => page.getByTestId("exchange").count()).toBe(0);
  await expectSoon(() => page.getByTestId("conversations").innerText()).toBe("");
  expect(await page.getByTestId("workspaces").innerText()).toContain("acme");
  expect(await page.getByTestId("registration").innerText()).toContain(`${endpoint.url}/webhook`);
  expect(await page.getByTestId("error").innerText()).toBe("");
});

test("a key is copied unmasked while the page keeps showing masks", async () => {
  const permissions = ["clipboard-read", "clipboard-write"];
  const { page, acme } = await openService({}, { permissions });
  await page.getByText("Addresses and keys").click();
  for (const [name, key] of [
    ["API key", API_KEY],
    ["Verification key", VERIFICATION_KEY],
    ["Flow API key", acme.flowApiKey],
  ] as const) {
    await page.getByRole("button", { name: `Copy ${name}`, exact: true }).click();
    await expectSoon(() => page.evaluate("navigator.clipboard.readText()")).toBe(key);
    expect(await page.locator("body").innerText()).not.toContain(key);
  }
  await page.getByTestId("done").getByText("in clear text").first().waitFor();
});
