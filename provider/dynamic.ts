/**
 * What the engine's provider process loads, by resource type. The line in provider/resource/provider-source.ts stands in every
 * state and names this module and its exports: neither is ever renamed.
 */
import "./lib/require-node.js";
import type { CheckResult } from "./resource/checks.js";
import { endWithEngine } from "./resource/end-with-engine.js";
import { report } from "./resource/report.js";
import { check } from "./webhook/check.js";
import { createWebhook } from "./webhook/create.js";
import { deleteWebhook } from "./webhook/delete.js";
import { diffWebhook, type DiffResult } from "./webhook/diff.js";
import type { WebhookInputs } from "./webhook/inputs.js";
import { readWebhook, type ReadResult } from "./webhook/read.js";
import { configure } from "./webhook/settings.js";
import { compactState, expandState, type StoredState } from "./webhook/state.js";
import { nameOf } from "./webhook/managed.js";
import { updateWebhook } from "./webhook/update.js";

endWithEngine();

export { ResponderProcess } from "./handshake-responder/lifecycle.js";
export { VerificationKey } from "./verification-key/lifecycle.js";

/** The lifecycle of `ApiChatWebhook`, in the form that the SDK's dynamic provider calls. */
export const ApiChatWebhook = {
  configure,

  check: (
    olds: unknown,
    news: WebhookInputs & Record<string, unknown>,
  ): Promise<CheckResult<WebhookInputs>> => report(news.name, async () => check(olds, news)),

  diff: (_id: string, olds: StoredState, news: WebhookInputs): Promise<DiffResult> =>
    report(news.name, async () => diffWebhook(expandState(olds), news)),

  create: (inputs: WebhookInputs): Promise<{ id: string; outs: StoredState }> =>
    report(inputs.name, async () => {
      const { id, outs } = await createWebhook(inputs);
      return { id, outs: compactState(outs) };
    }),

  /** An empty result tells the engine that the resource is gone. */
  read: (_id: string, props: StoredState): Promise<StoredReadResult | Record<string, never>> =>
    report(nameInRun(props), async () => {
      const result = await readWebhook(expandState(props));
      return result ? { ...result, props: compactState(result.props) } : {};
    }),

  update: (id: string, olds: StoredState, news: WebhookInputs): Promise<{ outs: StoredState }> =>
    report(news.name, async () => {
      const { outs } = await updateWebhook(id, expandState(olds), news);
      return { outs: compactState(outs) };
    }),

  delete: (_id: string, props: StoredState): Promise<void> =>
    report(nameInRun(props), () => deleteWebhook(expandState(props))),
};

/** A read by id gives the inputs alone. */
const nameInRun = (props: StoredState): string => (props.applied ? nameOf(expandState(props)) : props.name);

interface StoredReadResult extends Omit<ReadResult, "props"> {
  props: StoredState;
}
