// A separate entry file: only `apichat listen` registers a URL for a while.

import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Registration } from "../client/internal.js";
import { commandLine, shellQuote } from "../errors/index.js";
import { invalidConfig, makeFolders, readFileIfExists, stateFolder, writePrivateFile } from "../lib/files.js";
import { printLine, printWarning } from "../lib/progress.js";
import { lockFile } from "../lib/sqlite.js";
import { formatUrl, hideQuery, isSameUrl } from "../lib/url.js";
import { looksMasked } from "../responder/key-rules.js";
import { ensure } from "./ensure.js";
import { rejectForeign } from "./foreign.js";
import { remove } from "./remove.js";
import type { WantedWebhook } from "./wanted.js";
import { createClient, getWebhookBeforeSet, workspaceOf } from "./workspace.js";

/** The process through which a URL is reached. */
interface Tunnel {
  program: string;
  pid: number | undefined;
}

/** What a run notes for the next one, without secrets. It explains what is found and never decides what is removed. */
interface Note {
  webhookUrl: string;
  /** The URL that was registered before it, without the values of its query. */
  before: string | null;
  tunnel: Tunnel;
}

/**
 * Reserves a workspace until `release`, and returns what an earlier run has noted. Names the tunnel of that
 * run. Throws if another run has the workspace.
 */
export function reserveWorkspace(baseUrl: string, apiKey: string) {
  const file = join(stateFolder(), `listen-${workspaceOf(baseUrl, apiKey).slice(0, 16)}.json`);
  makeFolders(dirname(file));
  const lock = lockFile(`${file}.lock`, 0);
  if (lock === undefined)
    throw new Error(
      `another apichat listen --tunnel has registered its URL at ${formatUrl(baseUrl)}; end that one first`,
    );
  const text = readFileIfExists(file);
  const left = text === undefined ? undefined : (JSON.parse(text) as Note);
  if (left !== undefined) {
    const { program, pid } = left.tunnel;
    printWarning(
      "listen",
      "the tunnel of an earlier run may still lead to a port that a different program has by now; " +
        `if process ${pid} is ${program}, end it: kill ${pid}`,
    );
  }
  return { file, left, release: () => lock.release() };
}

/**
 * Registers the URL of a tunnel for a while, as the resource registers a webhook. A different one is replaced
 * only with `onExisting: "replace"`. `signal` ends the registration, which is then undone. Returns a function
 * that restores what was registered before, or removes the registration if there was none; it leaves what
 * somebody else has set in the meantime. Throws if what is registered was left by a killed run, or could not
 * be restored.
 */
export async function borrowRegistration(
  wanted: WantedWebhook,
  { file, left }: ReturnType<typeof reserveWorkspace>,
  { apiKey, signal, tunnel }: { apiKey: string; signal: AbortSignal; tunnel: Tunnel },
): Promise<() => Promise<void>> {
  const { name, baseUrl, webhookUrl, webhookVerificationKey } = wanted;
  const at = formatUrl(baseUrl);
  const client = createClient(wanted, apiKey);
  const seen = await getWebhookBeforeSet(client, { onExisting: "fail" });
  // With the key: somebody may have registered the URL on purpose, and a tunnel with a fixed name has the
  // same one again.
  if (left !== undefined && isSame(seen, { ...left, webhookVerificationKey }))
    throw new Error(`an earlier run has left its webhook at ${at}; ${howToUndo(left)}`);
  if (seen !== undefined) {
    rejectForeign(seen, wanted);
    requireRestorable(seen, wanted);
  }
  const { program, pid } = tunnel;
  const before = seen ? hideQuery(seen.webhookUrl) : null;
  const noted: Note = { webhookUrl, before, tunnel: { program, pid } };
  let ours: Shown = wanted;
  const putBack = async (): Promise<void> => {
    const now = await client.getWebhook();
    if (!isSame(now, ours)) {
      if (!isSame(now, seen))
        printLine(name, `the registration at ${at} has changed in the meantime, and stays as it is`);
    } else if (seen === undefined) {
      await remove(client, baseUrl, (found) => isSame(found, ours));
      printLine(name, "the registration is removed");
    } else {
      await client.setWebhook(seen);
      printLine(name, `restored ${formatUrl(seen.webhookUrl)}`);
    }
    await rm(file, { force: true });
  };
  const restore = (): Promise<void> =>
    putBack().catch((error: unknown) => {
      printWarning(name, `${formatUrl(webhookUrl)} may still be registered at ${at}; ${howToUndo(noted)}`);
      throw error;
    });
  await writePrivateFile(file, JSON.stringify(noted));
  try {
    const ensured = await ensure({ wanted, client: createClient(wanted, apiKey, signal), seen, signal });
    if (ensured.failure) throw ensured.failure;
    ours = ensured.registration;
  } catch (error) {
    await restore().catch((failure: unknown) => {
      // A stopped command has nothing else to report.
      if (error === signal.reason) throw failure;
      printWarning(name, ...(failure as Error).message.split("\n"));
    });
    throw error;
  }
  return restore;
}

type Shown = Pick<Registration, "webhookUrl" | "webhookVerificationKey">;

const isSame = (a: Shown | undefined, b: Shown | undefined): boolean =>
  a === undefined || b === undefined
    ? a === b
    : isSameUrl(a.webhookUrl, b.webhookUrl) && a.webhookVerificationKey === b.webhookVerificationKey;

const howToUndo = ({ webhookUrl, before }: Note): string =>
  before === null
    ? `to remove it: ${commandLine()} webhook delete --webhook-url ${shellQuote(formatUrl(webhookUrl))}`
    : `to register ${before} again: ${commandLine()} webhook set --replace --webhook-url ${shellQuote(before)}`;

/** Throws `invalid_config` if the key is not shown, or if this endpoint has the URL and would reject the key. */
function requireRestorable({ webhookUrl, webhookVerificationKey: key }: Registration, ours: Shown): void {
  const isShown = key !== "" && !looksMasked(key);
  if (isShown && (key === ours.webhookVerificationKey || !isSameUrl(webhookUrl, ours.webhookUrl))) return;
  const why = isShown ? "has a different verification key" : "has a key that the service does not show";
  throw invalidConfig([
    `--tunnel: ${formatUrl(webhookUrl)} ${why}, so it could not be restored; ` +
      `remove it first (${commandLine()} webhook delete), and set it again afterwards`,
  ]);
}
