import { expect, test } from "vitest";
import { openService, waitUntilLive } from "./harness.ts";

test.each([
  { locale: "en-US", lang: "en", heading: "API Channel emulator", send: "New conversation" },
  { locale: "pt-PT", lang: "pt-BR", heading: "Emulador do API Channel", send: "Nova conversa" },
  { locale: "de-DE", lang: "en", heading: "API Channel emulator", send: "New conversation" },
])("a browser of $locale gets the page in $lang", async ({ locale, lang, heading, send }) => {
  const { page } = await openService({}, { locale });
  expect(await page.locator("html").getAttribute("lang")).toBe(lang);
  await page.getByRole("heading", { name: heading }).waitFor();
  await page.getByRole("button", { name: send }).waitFor();
  expect(await page.title()).toBe(heading);
});

test("the chosen language is kept after a reload", async () => {
  const { page } = await openService();
  await page.getByTestId("language").selectOption("pt-BR");
  await page.getByRole("button", { name: "Nova conversa" }).waitFor();
  await page.reload();
  await waitUntilLive(page);
  await page.getByRole("button", { name: "Nova conversa" }).waitFor();
  expect(await page.locator("html").getAttribute("lang")).toBe("pt-BR");
  expect(await page.getByTestId("connection").innerText()).toBe("Ao vivo");
});
