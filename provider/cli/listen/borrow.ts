import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Registration } from "../../client/index.js";
import { shellQuote } from "../../errors/hints.js";
import { looksMasked } from "../../lib/checks.js";
import { makeFolders, readFileIfExists, stateFolder, writePrivateFile } from "../../lib/files.js";
import { lockFile } from "../../lib/sqlite.js";
import { formatUrl, hideQuery, isSameUrl } from "../../lib/url.js";
import {
  createClient,
  getWebhookBeforeSet,
  refuseForeign,
  removeRegistration,
  type WorkspaceClient,
} from "../../webhook/lifecycle.js";
import { register } from "../../webhook/register.js";
import { Run, workspaceOf } from "../../webhook/run.js";
import type { WebhookInputs } from "../../webhook/state.js";
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
 * registration if there was none; it leaves what somebody else has set in the meantime. What a killed run has left counts as registered by
 * this one. Throws an Error while another run has the workspace, and a UsageError if the service masks the key of the registration: then it
 * could not be restored.
 */
export async function borrowRegistration(options: BorrowOptions): Promise<() => Promise<void>> {
  const { baseUrl, apiKey, verificationKey, webhookUrl, replace, signal } = options;
  const at = formatUrl(baseUrl);
  const run = new Run();
  const onExisting = replace ? "replace" : "fail";
  const given = { name: "listen", baseUrl, apiKey, webhookUrl, webhookVerificationKey: verificationKey };
  const inputs = requireInputs({ ...given, onExisting }, run);
  const record = join(stateFolder(), `listen-${workspaceOf(baseUrl, apiKey).slice(0, 16)}.json`);
  makeFolders(dirname(record));
  const lock = lockFile(`${record}.lock`, 0);
  if (lock === undefined)
    throw new Error(`another apichat listen --tunnel has registered its URL at ${at}; end that one first`);
  const client = createClient(inputs, apiKey);
  const { seen, left, before } = await findBefore(client, record, inputs);
  const isOurs = (now: Registration | undefined): boolean =>
    now !== undefined && [webhookUrl, left?.webhookUrl ?? ""].some((url) => isSameUrl(now.webhookUrl, url));
  const putBack = async (): Promise<void> => {
    const now = await client.getWebhook();
    if (isOurs(now) && before !== undefined) {
      await client.setWebhook(before);
      note(`restored ${formatUrl(before.webhookUrl)}`);
    } else if (isOurs(now)) {
      await removeRegistration(client, baseUrl, isOurs);
      note("the registration is removed");
      if (left?.before) note(setAgain(left.before));
    } else if (now?.webhookUrl !== seen?.webhookUrl)
      note(`the registration at ${at} has changed in the meantime, and stays as it is`);
    await rm(record, { force: true });
  };
  const restore = (): Promise<void> =>
    putBack()
      .catch((error: unknown) => {
        const advice = before === undefined ? "" : `; ${setAgain(formatUrl(before.webhookUrl))}`;
        warn(`${formatUrl(webhookUrl)} may still be registered at ${at}${advice}`);
        throw error;
      })
      .finally(() => lock.release());
  // It stays if this process is killed, and contains no secrets.
  const url = before === undefined ? (left?.before ?? null) : hideQuery(before.webhookUrl);
  const hasOurKey = before?.webhookVerificationKey === verificationKey && url === before.webhookUrl;
  await writePrivateFile(record, JSON.stringify({ webhookUrl, before: url, hasOurKey } satisfies Left));
  try {
    await register({ run, inputs, client: createClient(inputs, apiKey, signal), seen, signal });
  } catch (error) {
    await restore().catch((failure: unknown) => {
      // A stopped command has nothing else to report.
      if (error === signal.reason) throw failure;
      warn((failure as Error).message);
    });
    throw error;
  }
  return restore;
}

const setAgain = (url: string): string =>
  `to register ${url} again: apichat webhook set --replace --webhook-url ${shellQuote(url)}`;

/** What a run notes for the one after it. */
interface Left {
  /** The URL of its tunnel. */
  webhookUrl: string;
  /** The URL that was registered before it, without the values of its query. */
  before: string | null;
  /** Whether that URL had no query, and the verification key of the command: then it can be restored without a key on the disk. */
  hasOurKey: boolean;
}

/** What is registered; what a killed run has left there, if that is it; and what to restore at the end. */
async function findBefore(client: WorkspaceClient, record: string, inputs: WebhookInputs) {
  const seen = await getWebhookBeforeSet(client, { onExisting: "fail" });
  const text = readFileIfExists(record);
  const noted = text === undefined ? undefined : (JSON.parse(text) as Left);
  if (seen === undefined || noted === undefined || !isSameUrl(seen.webhookUrl, noted.webhookUrl)) {
    if (seen === undefined) return { seen };
    refuseForeign(seen, inputs);
    requireRestorable(seen);
    return { seen, before: seen };
  }
  const was = noted.before === null ? "" : `, in place of ${noted.before}`;
  warn(
    `an earlier run was killed, or could not restore the registration: ${noted.webhookUrl} is still registered at ${formatUrl(inputs.baseUrl)}${was}; its tunnel may still run`,
  );
  const { webhookVerificationKey } = inputs;
  if (noted.before === null || !noted.hasOurKey) return { seen, left: noted };
  return { seen, left: noted, before: { webhookUrl: noted.before, webhookVerificationKey } };
}

function requireRestorable({ webhookUrl, webhookVerificationKey: key }: Registration): void {
  if (key !== "" && !looksMasked(key)) return;
  throw new UsageError(
    `--tunnel: the service does not show the key of ${formatUrl(webhookUrl)}, so that webhook could not be restored; remove it first (apichat webhook delete), and set it again afterwards`,
  );
}
