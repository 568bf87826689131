/** The inbox page of the emulator: `node tools/bundle-page.ts` bundles it into dist/. */
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = join(root, "provider", "emulator", "page");

/** What the script holds of others: their licences go with it. */
const BUNDLED = ["preact", "@preact/signals", "@preact/signals-core", "@knadh/oat"];

/**
 * Writes the inbox page into a folder: `index.html`, `favicon.svg`, `app.js`, `app.css`, and the licences of what is bundled. The
 * script needs nothing but these files.
 */
export async function bundlePage(outFolder: string): Promise<void> {
  await mkdir(outFolder, { recursive: true });
  await Promise.all([
    buildScriptAndStyle(outFolder),
    ...["index.html", "favicon.svg"].map((name) => copyFile(join(sources, name), join(outFolder, name))),
    writeFile(join(outFolder, "licenses.txt"), await readLicences()),
  ]);
}

async function buildScriptAndStyle(outFolder: string): Promise<void> {
  await build({
    entryPoints: [
      { in: join(sources, "main.tsx"), out: "app" },
      { in: join(sources, "page.css"), out: "app" },
    ],
    outdir: outFolder,
    tsconfig: join(sources, "tsconfig.json"),
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
  });
}

async function readLicences(): Promise<string> {
  const texts = await Promise.all(
    BUNDLED.map(async (name) => {
      const text = await readFile(join(root, "node_modules", name, "LICENSE"), "utf8");
      return `${name}\n\n${text.trim()}\n`;
    }),
  );
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

if (import.meta.main) await bundlePage(join(root, "dist", "provider", "emulator", "page"));
