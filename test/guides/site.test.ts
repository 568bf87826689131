import { readFile, readdir } from "node:fs/promises";
import { dirname, extname, join, normalize } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { execa } from "execa";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { afterTests, startServer } from "../support/http.ts";
import { makeFolder } from "../support/folder.ts";
import { root } from "../support/pages.ts";
const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

/** All files of the site, by path. */
const files = new Map<string, Buffer>();
let url = "";
let browser: Browser;

/** The site that `npm run docs` builds. A warning fails the test. */
beforeAll(async () => {
  const folder = await makeFolder();
  await execa("typedoc", ["--options", ".typedoc.json", "--out", folder], {
    cwd: root,
    preferLocal: true,
  });
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) files.set(path.slice(folder.length + 1), await readFile(path));
  }
  const server = await startServer(({ path }, response) => {
    const name = decodeURIComponent(path.slice(1)) || "index.html";
    const type = TYPES[extname(name)] ?? (name.endsWith(".svg") ? "image/svg+xml" : "image/png");
    response.writeHead(files.has(name) ? 200 : 404, { "content-type": type }).end(files.get(name));
  });
  ({ url } = server);
  const { endpoint, close } = await startBrowser();
  afterTests(close);
  browser = await chromium.connect(endpoint);
});

const idsOf = (html: string): Set<string> =>
  new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = ""]) => id));

test("every link of every page leads to a file of the site and an existing heading", () => {
  const pages = [...files].filter(([path]) => path.endsWith(".html"));
  expect(pages.length).toBeGreaterThan(100);
  const ids = new Map(pages.map(([path, text]) => [path, idsOf(text.toString())]));
  const broken = pages.flatMap(([path, text]) =>
    [...text.toString().matchAll(/\s(?:href|src|srcset)="([^"]*)"/g)]
      .map(([, target = ""]) => target.replaceAll("&amp;", "&"))
      .filter((target) => !/^(?:https?|mailto|data):/.test(target))
      .filter((target) => {
        const [file = "", anchor = ""] = target.split("#").map(decodeURIComponent);
        const found = file === "" ? path : normalize(join(dirname(path), file));
        return !files.has(found) || (anchor !== "" && ids.get(found)?.has(anchor) === false);
      })
      .map((target) => `${path}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test.each<BrowserContextOptions>([
  { colorScheme: "light", viewport: { width: 1280, height: 800 } },
  { colorScheme: "dark", viewport: { width: 360, height: 800 } },
])(
  "axe finds nothing serious, nothing is wider than the window, and no other host is requested ($colorScheme)",
  async (options) => {
    const context = await browser.newContext(options);
    const others: string[] = [];
    context.on("request", (request) => {
      if (!request.url().startsWith(url)) others.push(request.url());
    });
    const page = await context.newPage();
    for (const path of [
      "index.html",
      "documents/docs_reference_resource.html",
      "classes/provider.ApiChatWebhook.html",
    ]) {
      const response = await page.goto(`${url}/${path}`);
      expect({ path, status: response?.status() }).toEqual({ path, status: 200 });
      expect({ path, ...(await findingsIn(page)) }).toEqual({ path, findings: [], wider: 0 });
    }
    expect(others).toEqual([]);
    await context.close();
  },
);

test("the first page has one heading, and the sidebar has all groups", async () => {
  const page = await browser.newPage();
  await page.goto(`${url}/index.html`);
  expect(await page.locator("h1").count()).toBe(1);
  const groups = page.locator("#tsd-nav-container > li > details > summary");
  await expect
    .poll(async () => (await groups.allTextContents()).map((text) => text.trim()))
    .toEqual(["Guide", "Operate", "Reference", "Modules", "Examples", "Project"]);
  const modules = await page.locator("#tsd-nav-container").getByText("pulumi-apichat/client").count();
  expect(modules).toBe(1);
  await page.close();
});

test("search finds a page by its title, even without a server", async () => {
  const page = await browser.newPage();
  await page.goto(`${url}/index.html`);
  await page.keyboard.press("/");
  await page.locator("#tsd-search-input").fill("key rotation");
  const found = page.locator("#tsd-search-results").getByText("Key rotation: VerificationKey");
  await expect.poll(() => found.count()).toBe(1);
  await page.close();
});

async function findingsIn(page: Page) {
  const { violations } = await new AxeBuilder({ page })
    .setLegacyMode()
    // typedoc puts the anchor of a section into the summary that folds it.
    .disableRules("nested-interactive")
    .analyze();
  const findings = violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  const wider = await page.locator("html").evaluate((html) => html.scrollWidth - html.clientWidth);
  return { findings, wider };
}
