/**
 * `npm run test:openapi`: schemathesis holds the emulator against schema/openapi.json. Exit code 0 if nothing is wrong, or
 * if there is no Python that it runs on.
 */
import { randomUUID } from "node:crypto";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { startEmulator, type RecordedRequest } from "pulumi-apichat/emulator";
import { startServer } from "../../test/support/http.ts";
import { sampleAddress } from "../schema/samples.ts";
import { abortOnSignals, CommandError, run, runTool } from "../lib/run.ts";
import { findPython, MIN_PYTHON, preparePackages } from "./environment.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Gives the exit code. All of it listens on loopback. */
async function test(python: string, signal: AbortSignal): Promise<number> {
  await using resources = new AsyncDisposableStack();
  // Any verification key will do: schemathesis makes them up.
  const answerHandshake = startServer(({ body }, response) =>
    response.end(new URLSearchParams(body).get("hub_challenge") ?? ""),
  );
  const endpoint = resources.adopt(await answerHandshake, (it) => it.close());
  // The workspace has the addresses of the document's examples, and keys of this run only.
  const { workspace: name, botCode } = sampleAddress;
  const [apiKey, flowApiKey] = [randomUUID(), randomUUID()];
  const workspaces = [{ name, botCode, apiKey, flowApiKey }];
  const emulator = resources.adopt(await startEmulator({ workspaces }), (it) => it.close());
  // schemathesis writes into its working directory.
  const folder = resources.use(await mkdtempDisposable(join(tmpdir(), "apichat-openapi-")));
  // Keys go by environment: a command line is open to every user of the machine.
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
  const runOn = (url: string, tag: string): Promise<boolean> =>
    runSchemathesis(python, ["--url", url, "--include-tag", tag], {
      cwd: folder.path,
      env,
      signal,
      onLine: console.log,
    });
  const passed = [await runOn(emulator.url, "registration"), await runOn(emulator.botUrl, "messages")];
  const unreached = listUnreached(emulator.requests);
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

const operations = ["get-webhook", "set-webhook", "delete-webhook", "message"];
/** Taken, refused for its key, refused for its body. */
const outcomes = ["2xx", "401", "422"];

/**
 * What a run has not reached, such as `set-webhook 422`: a run whose requests are all refused for their key would find
 * nothing wrong.
 */
function listUnreached(requests: readonly RecordedRequest[]): string[] {
  const reached = new Set(
    requests.map(({ interface: port, action, status = 0 }) => {
      const outcome = status >= 200 && status < 300 ? "2xx" : status;
      return `${port === "bot" ? "message" : action} ${outcome}`;
    }),
  );
  return operations
    .flatMap((operation) => outcomes.map((outcome) => `${operation} ${outcome}`))
    .filter((pair) => !reached.has(pair));
}

if (import.meta.main) {
  const signal = abortOnSignals();
  await runTool(async () => {
    const python = await findPython(signal);
    const requirements = new URL("requirements.txt", import.meta.url);
    if (python) return test(await preparePackages(python, requirements, signal), signal);
    console.log(`test:openapi: skipped: no Python ${MIN_PYTHON}+ with venv`);
    return 0;
  });
}
