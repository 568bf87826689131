/**
 * `npm run test:openapi`: schemathesis holds the emulator against schema/openapi.json. Exit code 0 if nothing is wrong, or
 * if there is no Python that it runs on.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { abortOnSignals, CommandError, Interrupted, run } from "../setup/run.mjs";
import { findPython, oldestPython, prepareSchemathesis } from "./environment.ts";
import { listUnreached } from "./reached.ts";
import { startService, type Service } from "./service.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const signal = abortOnSignals();
try {
  const python = await findPython(process.env, signal);
  if (python) await test(await prepareSchemathesis(python, process.env, signal));
  else console.log(`test:openapi: skipped: no Python ${oldestPython}+ with venv`);
} catch (error) {
  if (error instanceof Interrupted) process.exitCode = error.exitCode;
  else {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}

async function test(python: string): Promise<void> {
  const service = await startService();
  // schemathesis writes into its working directory.
  const folder = await mkdtemp(join(tmpdir(), "apichat-openapi-"));
  try {
    const { url, botUrl } = service.emulator;
    const passed = [
      await runSchemathesis(python, service, folder, ["--url", url, "--include-tag", "registration"]),
      await runSchemathesis(python, service, folder, ["--url", botUrl, "--include-tag", "messages"]),
    ];
    const unreached = listUnreached(service.emulator.requests);
    if (unreached.length > 0) console.error(`The run did not reach: ${unreached.join(", ")}`);
    if (passed.includes(false) || unreached.length > 0) process.exitCode = 1;
    else console.log("test:openapi: the emulator and schema/openapi.json agree");
  } finally {
    await rm(folder, { recursive: true, force: true });
    await service.close();
  }
}

/** One run against one of the two ports; false if schemathesis found something. */
async function runSchemathesis(
  python: string,
  service: Service,
  cwd: string,
  args: readonly string[],
): Promise<boolean> {
  const config = ["--config-file", here("schemathesis.toml"), "--no-color"];
  const command = ["-m", "schemathesis.cli", ...config, "run", here("../../schema/openapi.json"), ...args];
  try {
    await run(python, command, { cwd, env: environmentFor(service), signal, onLine: console.log });
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
