import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** The browser of all test files, for `chromium.connect`. */
    browserEndpoint: string;
  }
}

/** The browser's usual paths on Linux distributions. APICHAT_TEST_BROWSER can name a different path. */
const SYSTEM_BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Not @sparticuz/chromium's own arguments: with their --single-process, a second context ends the browser. */
const ARGUMENTS = ["--no-sandbox", "--headless=shell"];

/**
 * Starts one browser for all files: this machine's Chromium, or else the one that npm installed. One for each
 * file would be slow: unpacking npm's takes longer than running most test files.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "apichat-browser-"));
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 5 });
  try {
    const found = process.env["APICHAT_TEST_BROWSER"] ?? SYSTEM_BROWSERS.find((path) => existsSync(path));
    const { executablePath, ...environment } = found
      ? { executablePath: found }
      : await unpackBrowser(folder);
    const env = { ...process.env, TMPDIR: folder, ...environment };
    const server = await chromium.launchServer({ executablePath, args: ARGUMENTS, env, host: "127.0.0.1" });
    project.provide("browserEndpoint", server.wsEndpoint());
    return async () => {
      await server.close();
      await remove();
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/**
 * Unpacks the browser of @sparticuz/chromium, and the libraries that a machine without a desktop lacks. Returns the
 * browser's path and environment.
 */
async function unpackBrowser(folder: string) {
  const fonts = join(folder, "fonts.conf");
  await writeFile(fonts, fontsConfiguration(folder));
  // The package unpacks its libraries only if it believes that it is in AWS Lambda.
  const lambda = { AWS_LAMBDA_JS_RUNTIME: "nodejs22.x", AWS_EXECUTION_ENV: "AWS_Lambda_nodejs22.x" };
  const script = 'console.log(await (await import("@sparticuz/chromium")).default.executablePath())';
  const options = { env: { ...lambda, TMPDIR: folder } };
  const { stdout } = await execa(process.execPath, ["--input-type=module", "-e", script], options);
  const libraries = [join(folder, "al2023", "lib"), process.env["LD_LIBRARY_PATH"] ?? ""];
  return {
    executablePath: stdout,
    LD_LIBRARY_PATH: libraries.filter((path) => path !== "").join(":"),
    FONTCONFIG_FILE: fonts,
  };
}

/** The package's own configuration finds fonts only in /tmp. Without a font, Chromium crashes at the first input. */
const fontsConfiguration = (folder: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, "fonts", "fonts")}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${join(folder, "fonts-cache")}</cachedir>
</fontconfig>
`;
