import { expect, test } from "vitest";
import { API_KEY, CLIPBOARD, clipboard, expectSoon, openService, write } from "./harness.ts";

test("a registration and a removal on the page are seen by a program", async () => {
  const { page, acme } = await openService();
  const registration = page.getByTestId("registration");
  await page.getByText("Simulate an outside change").click();
  await page.getByLabel("Other webhook URL").fill("https://somebody.example/hook");
  await page.getByLabel("Other verification key").fill("their-key");
  await page.getByRole("button", { name: "Register from outside" }).click();
  await expectSoon(() => registration.innerText()).toContain("https://somebody.example/hook");
  expect(acme.registration?.webhook_verification_key).toBe("their-key");
  await page.getByRole("button", { name: "Remove from outside" }).click();
  await expectSoon(() => page.getByTestId("workspaces").innerText()).toContain("not registered");
  expect(acme.registration?.webhook_url ?? "").toBe("");
});

test("a flow that is chosen replies from then on", async () => {
  const { page, acme } = await openService({}, { begun: true });
  await page.getByTestId("flow").selectOption("menu");
  await expectSoon(() => acme.flow).toBe("menu");
  await write(page, "Oi");
  await page.locator("article[data-kind=button_template]").waitFor();
});

test("a reset empties the page, including a linked exchange, and keeps workspace and registration", async () => {
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

test("a displayed command contains no mask, and its copy contains the key", async () => {
  const { page, acme } = await openService({}, CLIPBOARD);
  const start = page.getByTestId("start");
  const commands = async () => (await start.innerText()).match(/.*npx --package pulumi-apichat apichat.*/g);
  const address = `--base-url ${acme.baseUrl}`;
  await expectSoon(commands).toEqual([
    expect.stringMatching(
      /^APICHAT_VERIFICATION_KEY=\S+ npx --package pulumi-apichat apichat listen --port 4002$/,
    ),
    expect.stringMatching(
      new RegExp(
        `^APICHAT_VERIFICATION_KEY=\\S+ npx --package pulumi-apichat apichat webhook set .* --replace ${address}$`,
      ),
    ),
    `npx --package pulumi-apichat apichat webhook get ${address}`,
  ]);
  await page.getByRole("button", { name: "Copy Show what is registered" }).click();
  await expectSoon(() => clipboard(page)).toBe(
    `APICHAT_API_KEY='${API_KEY}' npx --package pulumi-apichat apichat webhook get ${address}`,
  );
  acme.removeRegistration();
  await expectSoon(async () => (await commands())?.map((command) => command.includes("--replace"))).toEqual([
    false,
    false,
  ]);
});
