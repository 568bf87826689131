import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ApiChatError, type ApiChatErrorCode } from "../errors/index.js";
import { sleep } from "../lib/abort.js";
import { quote } from "../lib/redact.js";
import {
  INSPECT_EVERY_MS,
  type Instance,
  isResponding,
  readInstance,
  requestStop,
  waitUntilReleased,
} from "../server/remote.js";
import { configPathOf } from "./data-folder.js";
import type { ProcessInputs } from "./inputs.js";

/** How long a process may take to respond after its start, in milliseconds. */
const START_MS = 20_000;

/** How long a graceful stop may take, in milliseconds. */
const STOP_MS = 20_000;

/** The first words of a responder's command. Default: this Node and the package's bin, found without PATH. */
let programWords = (): readonly string[] => [
  process.execPath,
  fileURLToPath(new URL("../cli/main.js", import.meta.url)),
];

/** Sets the words before `responder --config …`. A bundle names itself here, because it lacks the package's bin. */
export function setResponderCommand(words: readonly string[]): void {
  programWords = () => words;
}

/** Only these environment variables are passed on: others may be secret, such as the config passphrase. */
const INHERITED = /^(PATH|HOME|TZ|LANG|TMPDIR|(HTTPS?|NO)_PROXY|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/i;

const processError = (code: ApiChatErrorCode, summary: string, cause?: unknown): ApiChatError =>
  new ApiChatError(code, summary, { operation: "responder", cause });

/** A folder with a configuration, and the workspaces whose keys are redacted in what its process prints. */
export type Folder = Pick<ProcessInputs, "dataDir" | "workspaces">;

/**
 * The process outlives the provider: it has its own session and keeps none of the provider's files open.
 * If the process exits early, throws `unavailable` with its output. If it does not answer within 20 seconds, kills
 * it and throws `timeout`. `instance` identifies this start.
 */
export async function startProcess(folder: Folder, instance: string = randomUUID()): Promise<Instance> {
  const child = await spawnDetached(folder.dataDir, instance);
  try {
    return await waitUntilReady(child, folder, instance);
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

async function spawnDetached(dataDir: string, instance: string): Promise<ChildProcess> {
  const errors = await open(errorsPathOf(dataDir), "w", 0o600);
  try {
    const [command = "", ...words] = programWords();
    const parameters = [...words, "responder", "--config", configPathOf(dataDir), "--instance", instance];
    const child = spawn(command, parameters, {
      cwd: dataDir,
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => INHERITED.test(name))),
      detached: true,
      stdio: ["ignore", "ignore", errors.fd],
      windowsHide: true,
    });
    child.unref();
    return child;
  } finally {
    await errors.close();
  }
}

async function waitUntilReady(child: ChildProcess, folder: Folder, instance: string): Promise<Instance> {
  const { dataDir } = folder;
  const failure = new Promise<Error>((resolve) => child.once("error", resolve));
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline) {
    const announced = await readInstance(dataDir);
    // An earlier process may have left its announcement there.
    if (announced?.instance === instance && (await isResponding(announced))) return announced;
    if (child.exitCode !== null || child.signalCode !== null) {
      const printed = await readPrinted(folder);
      const how = `ended during its start with ${child.signalCode ?? `exit code ${child.exitCode}`}`;
      throw processError("unavailable", `the responder ${printed ? `did not start: ${printed}` : how}`);
    }
    const failed = await Promise.race([failure, sleep(INSPECT_EVERY_MS)]);
    if (failed) throw processError("unavailable", `the responder cannot start: ${failed.message}`, failed);
  }
  const printed = await readPrinted(folder);
  const late = `the responder did not answer within ${START_MS / 1000} s of its start, and was killed`;
  throw processError("timeout", printed ? `${late}; it printed: ${printed}` : late);
}

/** The process's stderr goes to a file, because a pipe would close with the provider. */
const errorsPathOf = (dataDir: string): string => join(dataDir, "start.log");

const QUOTED_CHARACTERS = 1_000;

async function readPrinted({ dataDir, workspaces }: Folder): Promise<string> {
  const text = await readFile(errorsPathOf(dataDir), "utf8");
  const keys = Object.values(workspaces).flatMap(({ verificationKeys }) => verificationKeys);
  return quote(text.replace(/^error: /, ""), keys, QUOTED_CHARACTERS);
}

/** Stops a process and waits until the system has released its folder. Throws `timeout` after 20 seconds. */
export async function stopProcess({ dataDir }: Pick<Folder, "dataDir">, running: Instance): Promise<void> {
  await requestStop(running);
  await waitUntilReleased(dataDir, STOP_MS);
}
