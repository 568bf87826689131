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
  // The only problems are the browser's own reports of the lost connection.
  expect(problems.splice(0).filter((problem) => !problem.includes("net::ERR_"))).toEqual([]);
});

test("a workspace shows its old conversations and deliveries, even after many newer ones", async () => {
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
  await Promise.all(Array.from({ length: 120 }, (_, index) => say(acme, "later", index + 1)));
  const { page } = await openInbox(emulator);
  await expectSoon(() => page.getByTestId("exchange").count()).toBe(200);
  await page.getByTestId("conversations").getByRole("button", { name: "Contact 0" }).click();
  await page.getByRole("button", { name: "delivery failed" }).click();
  const exchange = page.locator("[data-testid=exchange][open]");
  await exchange.locator("summary:focus").first().waitFor();
  await expectSoon(() => exchange.innerText()).toContain("answered HTTP 503");

  // Waits for globex's own list, because a list for all workspaces would begin with acme's conversations.
  const ofGlobex = page.waitForRequest(/conversations\?workspace=globex/);
  await page.getByTestId("workspaces").getByRole("button", { name: "globex" }).click();
  await ofGlobex;
  await page.getByTestId("conversations").getByRole("button", { name: "Contact 1" }).click();
  await page.locator("article[data-from=contact]").getByText("Oi").waitFor();
});

test("after the user chooses a different flow, that flow replies", async () => {
  const { page, acme } = await openService({}, { begun: true });
  await page.getByLabel("Flow that replies").selectOption("menu");
  await expectSoon(() => acme.flow).toBe("menu");
  await write(page, "Oi");
  await page.locator("article[data-kind=button_template]").waitFor();
});

test("a reset empties the page, but keeps the workspace and its registration", async () => {
  const { page, endpoint } = await openService({ flow: "echo" }, { begun: true });
  await write(page, "Oi");
  await page.getByRole("button", { name: "delivered" }).click();
  await page.locator("[data-testid=exchange][open]").waitFor();
  await page.getByTestId("open-reset").click();
  await page.getByRole("dialog").getByTestId("submit").click();
  await expectSoon(() => page.getByTestId("exchange").count()).toBe(0);
  await expectSoon(() => page.getByTestId("conversations").innerText()).toBe("");
  expect(await page.getByTestId("workspaces").innerText()).toContain("acme");
  expect(await page.getByTestId("registration").innerText()).toContain(`${endpoint.url}/webhook`);
  expect(await page.getByTestId("error").innerText()).toBe("");
});
