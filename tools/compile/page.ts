/** Bundles the inbox page of the emulator. */
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { clone } from "../lib/clone.ts";
import { writePapers } from "./bundled.ts";

const sources = join(clone, "provider", "emulator", "page");

/**
 * Writes the inbox page to a folder: `index.html`, `favicon.svg`, `app.js`, `app.css`, and the licences of its
 * packages. The script loads no other files.
 */
export async function bundlePage(outFolder: string): Promise<void> {
  await mkdir(outFolder, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: clone,
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
    metafile: true,
  });
  for (const name of ["index.html", "favicon.svg"])
    await copyFile(join(sources, name), join(outFolder, name));
  await writePapers(outFolder, "apichat-emulator-page", metafile, clone);
}
