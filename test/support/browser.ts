import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

/** A running Chromium without a window. */
export interface RunningBrowser {
  /** For `chromium.connect`. */
  endpoint: string;
  /** Ends all processes of the browser, and removes its unpacked files. */
  close: () => Promise<void>;
}

/** The paths that distributions use; APICHAT_TEST_BROWSER names a different one. */
const SYSTEM_BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The package's own arguments contain --single-process, with which a second context ends the browser. */
const ARGUMENTS = ["--no-sandbox", "--headless=shell"];

/** Starts the Chromium of this machine, or else the one that npm installed, which takes a few seconds to unpack. */
export async function startBrowser(): Promise<RunningBrowser> {
  const folder = await mkdtemp(join(tmpdir(), "apichat-browser-"));
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 5 });
  try {
    const { executablePath, environment } = findSystemBrowser() ?? (await unpackBrowser(folder));
    const env = { ...process.env, TMPDIR: folder, ...environment };
    const server = await chromium.launchServer({ executablePath, args: ARGUMENTS, env, host: "127.0.0.1" });
    return {
      endpoint: server.wsEndpoint(),
      close: async () => {
        await server.close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

interface Program {
  executablePath: string;
  environment: Record<string, string>;
}

function findSystemBrowser(): Program | undefined {
  const named = process.env["APICHAT_TEST_BROWSER"];
  const executablePath = named ?? SYSTEM_BROWSERS.find((path) => existsSync(path));
  return executablePath === undefined ? undefined : { executablePath, environment: {} };
}

/** Unpacks the package's browser, with the libraries that a machine without a desktop does not have. */
async function unpackBrowser(folder: string): Promise<Program> {
  const fonts = join(folder, "fonts.conf");
  await writeFile(fonts, fontsConfiguration(folder));
  // The package unpacks its libraries only if it believes that it is in AWS Lambda.
  const lambda = { AWS_LAMBDA_JS_RUNTIME: "nodejs22.x", AWS_EXECUTION_ENV: "AWS_Lambda_nodejs22.x" };
  const executablePath = await withEnvironment({ ...lambda, TMPDIR: folder }, async () => {
    const { default: packaged } = await import("@sparticuz/chromium");
    return packaged.executablePath();
  });
  const libraries = [join(folder, "al2023", "lib"), process.env["LD_LIBRARY_PATH"] ?? ""];
  return {
    executablePath,
    environment: {
      LD_LIBRARY_PATH: libraries.filter((path) => path !== "").join(":"),
      FONTCONFIG_FILE: fonts,
    },
  };
}

/** The package's own configuration searches /tmp only, and without a font Chromium crashes at the first input. */
const fontsConfiguration = (folder: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, "fonts", "fonts")}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${join(folder, "fonts-cache")}</cachedir>
</fontconfig>
`;

/** Runs `work` with these variables, and restores the environment afterwards, whatever `work` changed. */
async function withEnvironment<T>(variables: Record<string, string>, run: () => Promise<T>): Promise<T> {
  const before = { ...process.env };
  Object.assign(process.env, variables);
  try {
    return await run();
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
}
