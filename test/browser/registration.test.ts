import { expect, test } from "vitest";
import { API_KEY, CLIPBOARD, clipboard, expectSoon, openService, write } from "./harness.ts";

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
  const command =
    "APICHAT_VERIFICATION_KEY=a-key-that-nobody-guesses npx --package pulumi-apichat apichat webhook set " +
    `--webhook-url http://127.0.0.1:4002/ --replace --base-url ${acme.baseUrl}`;
  await expectSoon(() => start.innerText()).toContain(`\n${command}`);
  await page.getByRole("button", { name: "Copy Register it in another terminal" }).click();
  await expectSoon(() => clipboard(page)).toBe(`APICHAT_API_KEY='${API_KEY}' ${command}`);
});
