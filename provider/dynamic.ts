/**
 * What the engine's provider process loads, by resource type. The line in provider/webhook/provider-source.ts stands in every
 * state and names this module and its exports: neither is ever renamed.
 */
import { ApiChatError } from "./errors.js";
import { check, type CheckResult } from "./webhook/check.js";
import { createWebhook, type CreateResult } from "./webhook/create.js";
import { deleteWebhook } from "./webhook/delete.js";
import { diffWebhook, type DiffResult } from "./webhook/diff.js";
import type { WebhookInputs, WebhookState } from "./webhook/inputs.js";
import { readWebhook, type ReadResult } from "./webhook/read.js";
import { configure } from "./webhook/settings.js";
import { updateWebhook } from "./webhook/update.js";

/** The lifecycle of `ApiChatWebhook`, in the form that the SDK's dynamic provider calls. */
export const ApiChatWebhook = {
  configure,
  check: (olds: unknown, news: WebhookInputs & Record<string, unknown>): Promise<CheckResult> =>
    report(news.name, async () => check(olds, news)),
  diff: (_id: string, olds: WebhookState, news: WebhookInputs): Promise<DiffResult> =>
    report(news.name, async () => diffWebhook(olds, news)),
  create: (inputs: WebhookInputs): Promise<CreateResult> => report(inputs.name, () => createWebhook(inputs)),
  read: (_id: string, props: WebhookState): Promise<ReadResult> =>
    report(props.name, () => readWebhook(props)),
  update: (id: string, olds: WebhookState, news: WebhookInputs): Promise<{ outs: WebhookState }> =>
    report(news.name, () => updateWebhook(id, olds, news)),
  delete: (_id: string, props: WebhookState): Promise<void> => report(props.name, () => deleteWebhook(props)),
};

/** Starts a deliberate failure with the resource's name, and without a stack: the SDK prints it beside the message. */
async function report<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiChatError) {
      error.message = `${name}: ${error.message}`;
      error.stack = "";
    }
    throw error;
  }
}
