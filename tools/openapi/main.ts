/**
 * `npm run test:openapi`: schemathesis holds the emulator against schema/openapi.json. Exit code 0 if nothing is wrong, or
 * if there is no Python that it runs on.
 */
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { abortOnSignals, CommandError, run, runTool } from "../setup/run.mjs";
import { findPython, oldestPython, preparePackages } from "./environment.ts";
import { listUnreached, startService, type Service } from "./service.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const signal = abortOnSignals();
await runTool(async () => {
  const python = await findPython(process.env, signal);
  const requirements = new URL("requirements.txt", import.meta.url);
  if (python) return test(await preparePackages(python, requirements, process.env, signal));
  console.log(`test:openapi: skipped: no Python ${oldestPython}+ with venv`);
  return 0;
});

/** Gives the exit code. */
async function test(python: string): Promise<number> {
  await using service = await startService();
  // schemathesis writes into its working directory.
  await using folder = await mkdtempDisposable(join(tmpdir(), "apichat-openapi-"));
  const { url, botUrl } = service.emulator;
  const runOn = (origin: string, tag: string): Promise<boolean> =>
    runSchemathesis(python, ["--url", origin, "--include-tag", tag], {
      cwd: folder.path,
      env: environmentFor(service),
      signal,
      onLine: console.log,
    });
  const passed = [await runOn(url, "registration"), await runOn(botUrl, "messages")];
  const unreached = listUnreached(service.emulator.requests);
  if (unreached.length > 0) console.error(`The run did not reach: ${unreached.join(", ")}`);
  if (passed.includes(false) || unreached.length > 0) return 1;
  console.log("test:openapi: the emulator and schema/openapi.json agree");
  return 0;
}

/** One run against one of the two ports; false if schemathesis found something. */
async function runSchemathesis(
  python: string,
  args: readonly string[],
  options: Parameters<typeof run>[2],
): Promise<boolean> {
  const config = ["--config-file", here("schemathesis.toml"), "--no-color"];
  const command = ["-m", "schemathesis.cli", ...config, "run", here("../../schema/openapi.json"), ...args];
  try {
    await run(python, command, options);
    return true;
  } catch (error) {
    // Its report has been printed.
    if (error instanceof CommandError) return false;
    throw error;
  }
}

/** Keys go by environment: a command line is open to every user of the machine. */
function environmentFor({ workspace, webhookUrl }: Service): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PYTHONDONTWRITEBYTECODE: "1",
    APICHAT_TEST_HOOKS: here("hooks.py"),
    APICHAT_TEST_API_KEY: workspace.apiKey,
    APICHAT_TEST_FLOW_API_KEY: workspace.flowApiKey,
    APICHAT_TEST_WEBHOOK_URL: webhookUrl,
    APICHAT_TEST_WORKSPACE: workspace.name,
    APICHAT_TEST_BOT_CODE: workspace.botCode,
  };
}
