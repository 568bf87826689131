import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { PAGE_PATH } from "./guard.js";
import type { ControlApp } from "./requests.js";

const CONTENT_TYPES = {
  "index.html": "text/html; charset=utf-8",
  "app.js": "text/javascript; charset=utf-8",
  "app.css": "text/css; charset=utf-8",
  "favicon.svg": "image/svg+xml",
} as const;

type PageFile = keyof typeof CONTENT_TYPES;

/** Media come from wherever a message says; all else is from here, and no text ever becomes markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src http: https:",
  "media-src http: https:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-cache",
};

/** Beside this file's folder in the package; where sources are run, among what was built from them. */
const FOLDERS = ["../page/", "../../../dist/provider/emulator/page/"].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
);

/** Answers with a file of the page; 503 that says what to do if it was not built. */
export async function answerPage(file: PageFile): Promise<Response> {
  const folder = await findBuilt();
  if (folder === undefined) return answerText(503, NOT_BUILT);
  const content = await readFile(folder + file);
  return new Response(content, { headers: { ...HEADERS, "content-type": CONTENT_TYPES[file] } });
}

/** The files beside the page's own address. */
export function addPageFiles(app: ControlApp): void {
  for (const file of Object.keys(CONTENT_TYPES) as PageFile[]) {
    app.get(PAGE_PATH + file, () => answerPage(file));
  }
}

/** A text in place of the page. */
export function answerText(status: number, text: string): Response {
  const headers = { ...HEADERS, "content-type": "text/plain; charset=utf-8" };
  return new Response(text, { status, headers });
}

const NOT_BUILT =
  "The page is not built. In a clone of pulumi-apichat run: npm run build\n" +
  "The control API under /_emulator/ works without it.\n";

/** The sources have an index.html too, but nothing that a browser can run. */
async function findBuilt(): Promise<string | undefined> {
  for (const folder of FOLDERS) {
    try {
      await readFile(`${folder}app.js`);
      return folder;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  return undefined;
}
