import { RegistrationClient } from "pulumi-apichat/client";
import { startEmulator, type Emulator, type EmulatorOptions, type Workspace } from "pulumi-apichat/emulator";
import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";
import { startEndpoint, API_KEY, VERIFICATION_KEY, type Endpoint } from "../support/endpoint.ts";
import { afterTests } from "../support/http.ts";

export { API_KEY, VERIFICATION_KEY };

let browser: Browser;
const opened: Inbox[] = [];

beforeAll(async () => {
  browser = await chromium.connect(inject("browserEndpoint"));
});

afterEach(async () => {
  const inboxes = opened.splice(0);
  await Promise.all(inboxes.map(({ page }) => page.context().close()));
  expect(inboxes.flatMap(({ problems }) => problems)).toEqual([]);
});

afterAll(() => browser.close());

/** The service with the workspace acme, and its registered endpoint. */
export interface Service {
  emulator: Emulator;
  acme: Workspace;
  endpoint: Endpoint;
}

/** Starts the service and the endpoint, and registers the endpoint with a handshake, as a Pulumi program would. */
export async function startService(options: EmulatorOptions = {}): Promise<Service> {
  const workspaces = [{ name: "acme", apiKey: API_KEY, botCode: "bot-acme" }];
  const [emulator, endpoint] = await Promise.all([
    startEmulator({ workspaces, flow: "silent", ...options }),
    startEndpoint(),
  ]);
  afterTests(() => emulator.close());
  const acme = emulator.workspace("acme");
  await registerAt(acme, `${endpoint.url}/webhook`);
  return { emulator, acme, endpoint };
}

/** Sets a workspace's webhook through the registration interface. */
export async function registerAt(
  { baseUrl, apiKey }: Pick<Workspace, "baseUrl" | "apiKey">,
  webhookUrl: string,
): Promise<void> {
  const client = new RegistrationClient({ baseUrl, apiKey });
  await client.setWebhook({ webhookUrl, webhookVerificationKey: VERIFICATION_KEY });
}

/**
 * The live page. `problems` lists everything that the browser reported; a test fails if it is not empty when
 * the test ends.
 */
export interface Inbox {
  page: Page;
  problems: string[];
}

/** Opens the page in its own browser profile, which can reach only this machine. */
export async function openInbox(
  { url }: Pick<Emulator, "url">,
  options: BrowserContextOptions = {},
): Promise<Inbox> {
  const viewport = { width: 1280, height: 800 };
  const context = await browser.newContext({ locale: "en-US", viewport, ...options });
  context.setDefaultTimeout(30_000);
  await context.route(
    ({ hostname }) => hostname !== "127.0.0.1",
    (route) => route.abort(),
  );
  const page = await context.newPage();
  const inbox = { page, problems: await watchProblems(page) };
  opened.push(inbox);
  await page.goto(`${url}/_emulator/`);
  await waitUntilLive(page);
  return inbox;
}

/** Starts the service and opens the page. If `begun` is set, also starts a conversation. */
export async function openService(
  options: EmulatorOptions = {},
  { begun = false, ...inboxOptions }: BrowserContextOptions & { begun?: boolean } = {},
): Promise<Service & Inbox> {
  const service = await startService(options);
  const inbox = await openInbox(service.emulator, inboxOptions);
  if (begun) await begin(inbox.page);
  return { ...service, ...inbox };
}

/** Waits until the live stream is open. */
export const waitUntilLive = (page: Page): Promise<void> =>
  page.locator("[data-testid=connection][data-variant=success]").waitFor();

/** Starts a conversation with the page's dialog. */
export async function begin(page: Page, { id = "5511999990001", name = "Maria Souza" } = {}): Promise<void> {
  await page.getByTestId("new-conversation").click();
  await page.getByLabel("Contact id").fill(id);
  await page.getByLabel("Contact name").fill(name);
  await page.getByLabel("Conversation id").fill("4711");
  await page.getByRole("dialog").getByTestId("submit").click();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
}

/** Writes a text, and sends it when the previous one has been sent: until then, the form ignores submits. */
export async function write(page: Page, text: string): Promise<void> {
  await page.getByTestId("content").fill(text);
  await page.locator("#composer[aria-busy=true]").waitFor({ state: "detached" });
  await page.getByTestId("send").click();
}

/** The exchanges of a kind. If `text` is given, only those whose summary line contains it. */
export function exchangesOf(page: Page, kind: string, text = ""): Locator {
  const summary = page.locator("summary").filter({ hasText: text });
  return page.locator(`[data-testid=exchange][data-kind=${kind}]`).filter({ has: summary });
}

/** Unfolds an exchange, if it is folded. */
export async function unfold(exchange: Locator): Promise<Locator> {
  if ((await exchange.getAttribute("open")) === null) await exchange.locator("summary").first().click();
  return exchange;
}

/** Unfolds all exchanges and everything else that is folded on the page. */
export async function unfoldAll(page: Page): Promise<void> {
  const closed = page.locator("details:not([open]) > summary");
  while ((await closed.count()) > 0) await closed.first().click();
}

/** Polls a value until it is the expected one. */
export const expectSoon = (read: () => unknown): ReturnType<typeof expect.poll> =>
  expect.poll(read, { timeout: 30_000 });

/** The function that a script in a hostile text calls: see hostile.ts. */
export const ALARM = "apichatAlarm";

const REPORT_VIOLATIONS = `
  addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI, sample }) =>
    apichatViolation([effectiveDirective, blockedURI, sample].join(" ")));
`;

/** Collects uncaught errors, console errors and warnings, policy violations, dialogs and alarm calls. */
async function watchProblems(page: Page): Promise<string[]> {
  const problems: string[] = [];
  page.on("pageerror", (error) => void problems.push(`uncaught: ${error.message}`));
  page.on("console", (message) => {
    if (!["error", "warning"].includes(message.type())) return;
    // Only a missing file of the page itself is a problem. Missing media are expected: the user sees a message.
    if (message.text().startsWith("Failed to load resource") && isMedium(message.location().url)) return;
    problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.exposeFunction(ALARM, (what: unknown) => void problems.push(`script ran: ${String(what)}`));
  await page.exposeFunction("apichatViolation", (what: string) => void problems.push(`violation: ${what}`));
  await page.addInitScript(REPORT_VIOLATIONS);
  return problems;
}

const isMedium = (url: string): boolean => !new URL(url).pathname.startsWith("/_emulator/");

/** The body of the last request that the service received. */
export const lastBody = ({ requests }: Emulator): unknown =>
  JSON.parse(requests.at(-1)?.request.body ?? "null");
