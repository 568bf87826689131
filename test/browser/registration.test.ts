import { RegistrationClient } from "pulumi-apichat/client";
import { beforeAll, expect, test } from "vitest";
import {
  begin,
  expectSoon,
  openInbox,
  registerAt,
  startService,
  VERIFICATION_KEY,
  write,
  type Inbox,
  type Service,
} from "./harness.ts";
import { shownMessages } from "./shown.ts";

let service: Service;
let inbox: Inbox;
const shown = () => inbox.page.getByTestId("registration").innerText();

beforeAll(async () => {
  service = await startService({ flow: "echo" });
  inbox = await openInbox(service.emulator);
});

test("what a program registers and removes is shown as it happens", async () => {
  const { baseUrl, apiKey } = service.acme;
  const client = new RegistrationClient({ baseUrl, apiKey });
  expect(await shown()).toContain(`${service.endpoint.url}/webhook`);
  await client.deleteWebhook();
  await expectSoon(shown).toContain("not registered");
  await client.setWebhook({
    webhookUrl: `${service.endpoint.url}/other`,
    webhookVerificationKey: VERIFICATION_KEY,
  });
  await expectSoon(shown).toContain(`${service.endpoint.url}/other`);
  await expectSoon(shown).toContain("verified");
});

test("somebody else registers and removes by the page, and a program sees it", async () => {
  const { page } = inbox;
  await page.getByText("Change behind the back").click();
  await page.getByLabel("Somebody else's webhook URL").fill("https://somebody.example/hook");
  await page.getByLabel("Somebody else's verification key").fill("their-key");
  await page.getByRole("button", { name: "Somebody else registers" }).click();
  await expectSoon(shown).toContain("https://somebody.example/hook");
  expect(service.acme.registration?.webhook_verification_key).toBe("their-key");
  await page.getByRole("button", { name: "Somebody else removes it" }).click();
  await expectSoon(shown).toContain("not registered");
  expect(service.acme.registration?.webhook_url ?? "").toBe("");
});

test("a reply that nothing is registered for is shown as not delivered", async () => {
  const { page } = inbox;
  await begin(page);
  await write(page, "ninguém ouve");
  const reply = page.locator("article[data-from=flow] footer");
  await expectSoon(() => reply.innerText()).toContain("not delivered: nothing was registered");
  expect(service.acme.deliveries).toEqual([]);
});

test("another flow is chosen, and replies from then on", async () => {
  const { page } = inbox;
  await page.getByTestId("flow").selectOption("menu");
  await expectSoon(() => service.acme.flow).toBe("menu");
  await write(page, "Oi");
  await page.locator("article[data-kind=buttons]").waitFor();
});

test("a flow key without the permission is refused, and the page says so", async () => {
  const { page } = inbox;
  await page.getByText("Addresses and keys").click();
  await page.getByLabel("Flow key has “Gerenciar Fluxo”").uncheck();
  await expectSoon(() => service.acme.mayManageFlow).toBe(false);
  const before = (await shownMessages(page)).length;
  await write(page, "sem permissão");
  await page.getByTestId("errors").getByText("bot_url answered 403").waitFor();
  expect((await shownMessages(page)).length).toBe(before);
  expect(await page.getByTestId("contact-text").inputValue()).toBe("sem permissão");
  await page.getByLabel("Flow key has “Gerenciar Fluxo”").check();
});

test("a workspace is made, chosen and deleted", async () => {
  const { page } = inbox;
  await page.getByTestId("new-workspace").click();
  await page.getByLabel("Name", { exact: true }).fill("globex");
  await page.getByLabel("API key", { exact: true }).fill("globex-key");
  await page.getByRole("button", { name: "Create workspace" }).click();
  await page
    .getByTestId("workspaces")
    .getByRole("button", { name: "globex" })
    .and(page.locator("[aria-current=true]"))
    .waitFor();
  expect(service.emulator.workspace("globex").apiKey).toBe("globex-key");
  await page.getByText("Addresses and keys").click();
  await page.getByRole("button", { name: "Delete workspace" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete workspace" }).click();
  await expectSoon(() => service.emulator.workspaces.has("globex")).toBe(false);
  await expectSoon(() => page.getByTestId("workspaces").innerText()).not.toContain("globex");
});

test("a reset empties the page and leaves workspace and registration", async () => {
  const { page } = inbox;
  await registerAt(service.acme, `${service.endpoint.url}/webhook`);
  await expectSoon(shown).toContain("verified");
  await page.getByTestId("open-reset").click();
  await page.getByRole("button", { name: "Reset now" }).click();
  await page.getByTestId("done").getByText("The emulator is reset.").waitFor();
  await expectSoon(() => page.getByTestId("exchange").count()).toBe(0);
  await expectSoon(() => page.getByTestId("conversations").innerText()).toBe("");
  expect(await page.getByTestId("workspaces").innerText()).toContain("acme");
  expect(await shown()).toContain(`${service.endpoint.url}/webhook`);
  expect(inbox.problems.filter((problem) => !problem.includes("status of 403"))).toEqual([]);
});
