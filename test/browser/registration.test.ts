import { expect, test } from "vitest";
import { API_KEY, CLIPBOARD, clipboard, expectSoon, openService, write } from "./harness.ts";

test("another flow is chosen, and replies from then on", async () => {
  const { page, acme } = await openService({}, { begun: true });
  await page.getByTestId("flow").selectOption("menu");
  await expectSoon(() => acme.flow).toBe("menu");
  await write(page, "Oi");
  await page.locator("article[data-kind=button_template]").waitFor();
});

test("a reset empties the page, of an exchange that is linked too, and keeps workspace and registration", async () => {
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

test("a command that is shown has no mask in it, and its copy has the key; also while a webhook is registered", async () => {
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
