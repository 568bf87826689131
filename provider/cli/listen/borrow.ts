import { hash } from "node:crypto";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Registration } from "../../client/index.js";
import { stateFolder } from "../../handshake-responder/data-folder.js";
import { looksMasked } from "../../lib/checks.js";
import { makeFolders, readFileIfExists, writePrivateFile } from "../../lib/files.js";
import { formatUrl, hideQuery, isSameUrl } from "../../lib/url.js";
import {
  createClient,
  getWebhookBeforeSet,
  refuseForeign,
  removeRegistration,
} from "../../webhook/lifecycle.js";
import { register } from "../../webhook/register.js";
import { Run } from "../../webhook/run.js";
import { note, warn } from "../output.js";
import { UsageError } from "../usage-error.js";
import { requireInputs } from "../webhook/workspace.js";

export interface BorrowOptions {
  baseUrl: string;
  apiKey: string;
  verificationKey: string;
  /** The URL to register. */
  webhookUrl: string;
  /** Whether a different registration may be replaced for the time being. */
  replace: boolean;
  /** Ends the registration, which is then undone. */
  signal: AbortSignal;
}

/**
 * Registers a URL for a while, as the resource registers one. Returns a function that restores what was registered before, or removes the
 * registration if there was none; it leaves what somebody else has set in the meantime. Throws a UsageError if the service masks the key of
 * the registration: then it could not be restored.
 */
export async function borrowRegistration(options: BorrowOptions): Promise<() => Promise<void>> {
  const { baseUrl, apiKey, verificationKey, webhookUrl, replace, signal } = options;
  const record = recordOf(options);
  const left = readRecord(record);
  if (left !== undefined) warnOfUnrestored(baseUrl, left);
  const run = new Run();
  const onExisting = replace ? "replace" : "fail";
  const given = { name: "listen", baseUrl, apiKey, webhookUrl, webhookVerificationKey: verificationKey };
  const inputs = requireInputs({ ...given, onExisting }, run);
  const client = createClient(inputs, apiKey);
  const seen = await getWebhookBeforeSet(client, { onExisting: "fail" });
  const isLeft = seen !== undefined && left !== undefined && isSameUrl(seen.webhookUrl, left.webhookUrl);
  const before = isLeft ? undefined : seen;
  if (before !== undefined) {
    refuseForeign(before, inputs);
    requireRestorable(before);
  }
  makeFolders(dirname(record));
  // It stays if this process is killed, and contains no secrets.
  const url = before === undefined ? null : hideQuery(before.webhookUrl);
  await writePrivateFile(record, JSON.stringify({ webhookUrl, before: isLeft ? left.before : url }));
  const restore = async (): Promise<void> => {
    const now = await client.getWebhook();
    const isOurs = now !== undefined && isSameUrl(now.webhookUrl, webhookUrl);
    if (isOurs && before === undefined) {
      await removeRegistration(client, baseUrl, (found) => isSameUrl(found?.webhookUrl ?? "", webhookUrl));
      note("the registration is removed");
    } else if (isOurs && before !== undefined) {
      await client.setWebhook(before).catch((error: unknown) => {
        warn(`${formatUrl(before.webhookUrl)} is not registered again: ${SET_AGAIN}`);
        throw error;
      });
      note(`restored ${formatUrl(before.webhookUrl)}`);
    } else if (now?.webhookUrl !== seen?.webhookUrl)
      note(`the registration at ${formatUrl(baseUrl)} has changed in the meantime, and stays as it is`);
    await rm(record, { force: true });
  };
  try {
    await register({ run, inputs, client: createClient(inputs, apiKey, signal), seen, signal });
  } catch (error) {
    await restore().catch((failure: unknown) => warn((failure as Error).message));
    throw error;
  }
  return restore;
}

const SET_AGAIN = "apichat webhook set --replace --webhook-url sets it again";

/** One base URL may serve several workspaces: the API key is the other half of their identity. */
const recordOf = ({ baseUrl, apiKey }: BorrowOptions): string =>
  join(stateFolder(), `listen-${hash("sha256", JSON.stringify([baseUrl, apiKey])).slice(0, 16)}.json`);

/** What a run notes for the one after it. */
interface Left {
  /** The URL of its tunnel. */
  webhookUrl: string;
  /** The URL that was registered before it, without the values of its query. */
  before: string | null;
}

function readRecord(record: string): Left | undefined {
  const text = readFileIfExists(record);
  return text === undefined ? undefined : (JSON.parse(text) as Left);
}

/** Says what a run that was killed has left behind. */
function warnOfUnrestored(baseUrl: string, { webhookUrl, before }: Left): void {
  const what =
    before === null ? "nothing was registered before it" : `it had replaced ${before}; ${SET_AGAIN}`;
  warn(`an earlier run was killed while ${webhookUrl} was registered at ${formatUrl(baseUrl)}: ${what}`);
}

function requireRestorable({ webhookUrl, webhookVerificationKey: key }: Registration): void {
  if (key !== "" && !looksMasked(key)) return;
  throw new UsageError(
    `--tunnel: the service does not show the key of ${formatUrl(webhookUrl)}, so that webhook could not be restored; remove it first (apichat webhook delete), and set it again afterwards`,
  );
}
