import { expect, test } from "vitest";
import { expectSoon, openService, write } from "./harness.ts";

test("a newly chosen flow replies from then on", async () => {
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
