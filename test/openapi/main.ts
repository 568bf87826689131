/**
 * `npm run suite openapi`: schemathesis checks the emulator against schema/openapi.json. Exits with 0 if they
 * agree, or if there is no suitable Python.
 */
import { randomUUID } from "node:crypto";
import { mkdtempDisposable } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { startEmulator } from "pulumi-apichat/emulator";
import samples from "../../schema/samples.json" with { type: "json" };
import { listen } from "../../tools/lib/listen.ts";
import { abortOnSignals, CommandError, run, runTool } from "../../tools/lib/run.ts";
import { findPython, MIN_PYTHON, preparePackages } from "../../tools/lib/python.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Every operation must return each of these statuses. So a run in which all calls are rejected does not pass. */
const EXPECTED = ["get-webhook", "set-webhook", "delete-webhook", "message"].flatMap((operation) =>
  [200, 401, 422].map((status) => `${operation} ${status}`),
);

/** Returns the exit code. Everything listens on loopback. */
async function test(python: string, signal: AbortSignal): Promise<number> {
  await using resources = new AsyncDisposableStack();
  // This endpoint accepts a handshake with any key, because schemathesis generates the verification keys.
  const acceptHandshake = createServer((request, response) => {
    void text(request).then((body) => response.end(new URLSearchParams(body).get("hub_challenge") ?? ""));
  });
  const endpoint = resources.adopt(await listen(acceptHandshake), (it) => it.close());
  // The workspace has the bot code from the document's examples, and new random keys.
  const [name, botCode] = ["acme", basename(samples.WebhookConfiguration.bot_url)];
  const [apiKey, flowApiKey] = [randomUUID(), randomUUID()];
  const options = { workspaces: [{ name, botCode, apiKey, flowApiKey }] };
  const emulator = resources.adopt(await startEmulator(options), (it) => it.close());
  // schemathesis writes into its working directory.
  const { path: cwd } = resources.use(await mkdtempDisposable(join(tmpdir(), "apichat-openapi-")));
  // Keys are passed in the environment, because other users can read command lines.
  const env = {
    ...process.env,
    PYTHONDONTWRITEBYTECODE: "1",
    APICHAT_TEST_HOOKS: here("hooks.py"),
    APICHAT_TEST_API_KEY: apiKey,
    APICHAT_TEST_FLOW_API_KEY: flowApiKey,
    APICHAT_TEST_WEBHOOK_URL: `${endpoint.url}/webhook`,
    APICHAT_TEST_WORKSPACE: name,
    APICHAT_TEST_BOT_CODE: botCode,
  };
  const config = ["-m", "schemathesis.cli", "--config-file", here("schemathesis.toml"), "--no-color"];
  for (const [url, tag] of [
    [emulator.url, "registration"] as const,
    [emulator.botUrl, "messages"] as const,
  ]) {
    const args = [...config, "run", here("../../schema/openapi.json"), "--url", url, "--include-tag", tag];
    try {
      await run(python, args, { cwd, env, signal, onLine: console.log });
    } catch (error) {
      // If the command failed, schemathesis has already printed why.
      if (error instanceof CommandError) return 1;
      throw error;
    }
  }
  const responses = emulator.requests.map(({ operation, response }) => {
    const { status = 0 } = response ?? {};
    return `${operation} ${status >= 200 && status < 300 ? 200 : status}`;
  });
  const missing = EXPECTED.filter((one) => !responses.includes(one));
  if (missing.length > 0) throw new Error(`No call had these results: ${missing.join(", ")}`);
  console.log("suite openapi: the emulator and schema/openapi.json agree");
  return 0;
}

const signal = abortOnSignals();
await runTool(async () => {
  const python = await findPython(signal);
  const requirements = new URL("requirements.txt", import.meta.url);
  if (python) return test(await preparePackages(python, requirements, signal), signal);
  console.log(`suite openapi: skipped: no Python ${MIN_PYTHON}+ with venv`);
  return 0;
});
