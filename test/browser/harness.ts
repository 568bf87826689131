import { RegistrationClient } from "pulumi-apichat/client";
import { startEmulator, type Emulator, type EmulatorOptions, type Workspace } from "pulumi-apichat/emulator";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject } from "vitest";
import { API_KEY, startEndpoint, VERIFICATION_KEY, type Endpoint } from "../support/endpoint.ts";
import { watchProblems } from "./problems.ts";

export { API_KEY, VERIFICATION_KEY };

let browser: Browser;
const closings: (() => Promise<unknown>)[] = [];

/** Runs `close` after the tests of the file. */
export const closeAfterTests = (close: () => Promise<unknown>): void => void closings.push(close);

beforeAll(async () => {
  browser = await chromium.connect(inject("browserEndpoint"));
});

afterAll(async () => {
  await browser.close();
  await Promise.all(closings.map((close) => close()));
});

/** The service with the workspace acme, and the endpoint that acme's registration names. */
export interface Service {
  emulator: Emulator;
  acme: Workspace;
  endpoint: Endpoint;
}

/** Starts both, and registers as a program does: with a handshake. */
export async function startService(options: EmulatorOptions = {}): Promise<Service> {
  const workspaces = [{ name: "acme", apiKey: API_KEY, botCode: "bot-acme" }];
  const [emulator, endpoint] = await Promise.all([
    startEmulator({ workspaces, flow: "silent", ...options }),
    startEndpoint(),
  ]);
  closeAfterTests(() => Promise.all([emulator.close(), endpoint.close()]));
  const acme = emulator.workspace("acme");
  await registerAt(acme, `${endpoint.url}/webhook`);
  return { emulator, acme, endpoint };
}

/** Sets the webhook of a workspace over the registration interface. */
export async function registerAt(
  { baseUrl, apiKey }: Pick<Workspace, "baseUrl" | "apiKey">,
  webhookUrl: string,
): Promise<void> {
  const client = new RegistrationClient({ baseUrl, apiKey });
  await client.setWebhook({ webhookUrl, webhookVerificationKey: VERIFICATION_KEY });
}

/** What the page is opened with, and whether it is looked at for problems afterwards. */
export type InboxOptions = BrowserContextOptions & {
  /** Behind `#`. */
  choice?: string;
};

/** The page, live; `problems` is all that the browser complained of. */
export interface Inbox {
  page: Page;
  problems: string[];
}

/** Opens the page in a browser profile of its own. Nothing but this machine can be reached from it. */
export async function openInbox(
  { url }: Pick<Emulator, "url">,
  { choice = "workspace=acme", ...options }: InboxOptions = {},
): Promise<Inbox> {
  const context = await browser.newContext({
    locale: "en-US",
    viewport: { width: 1280, height: 800 },
    ...options,
  });
  context.setDefaultTimeout(30_000);
  await context.route(
    ({ hostname }) => hostname !== "127.0.0.1",
    (route) => route.abort(),
  );
  const page = await context.newPage();
  const problems = await watchProblems(page);
  await page.goto(`${url}/_emulator/#${choice}`);
  await waitUntilLive(page);
  return { page, problems };
}

/** Waits until the live stream is open. */
export const waitUntilLive = (page: Page): Promise<void> =>
  page.locator('[data-testid=connection][data-state="live"]').waitFor();

/** Begins a conversation over the dialog. */
export async function begin(
  page: Page,
  { id = "5511999990001", name = "Maria Souza", conversation = "4711" } = {},
): Promise<void> {
  await page.getByTestId("new-conversation").click();
  await page.getByTestId("contact-id").fill(id);
  await page.getByTestId("contact-name").fill(name);
  await page.getByTestId("conversation-id").fill(conversation);
  await page.getByRole("dialog").locator("button.primary").click();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
}

/** Writes a text as the contact. */
export async function write(page: Page, text: string): Promise<void> {
  await page.getByTestId("contact-text").fill(text);
  await page.getByTestId("contact-send").click();
}

/** Reads a value again and again until it is the expected one. */
export const expectSoon = (read: () => unknown): ReturnType<typeof expect.poll> =>
  expect.poll(read, { timeout: 30_000 });
