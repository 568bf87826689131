/**
 * What the engine's provider process loads, by resource type. The line in provider/resource/program.ts is in every
 * state and names this module and its exports: neither is ever renamed.
 */
import "./lib/require-node.js";
import type { CheckResult, RawInputs } from "./lib/checks.js";
import { endWithEngine, printLine, report, toFailures } from "./resource/process.js";
import { checkWebhook } from "./webhook/check.js";
import type { WebhookInputs } from "./webhook/contract.js";
import { deleteWebhook } from "./webhook/delete.js";
import {
  createWebhook,
  diffWebhook,
  readWebhook,
  updateWebhook,
  type DiffResult,
  type ReadResult,
} from "./webhook/lifecycle.js";
import { configure, nameOf } from "./webhook/run.js";
import { compactState, expandState, type StoredState } from "./webhook/state.js";

endWithEngine();

export { ResponderProcess } from "./handshake-responder/lifecycle.js";
export { VerificationKey } from "./verification-key/lifecycle.js";

/** The lifecycle of `ApiChatWebhook`, in the form that the SDK's dynamic provider calls. */
export const ApiChatWebhook = {
  configure,

  check: (_olds: unknown, news: RawInputs): Promise<CheckResult<WebhookInputs>> =>
    report(news.name, async () => {
      const { inputs, problems, warnings } = checkWebhook(news);
      for (const { field, text } of warnings) printLine(news.name, `warning: ${field} ${text}`);
      return { inputs, failures: toFailures(problems, SECRET_INPUTS) };
    }),

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

/** Secrets, and URLs that may hold one. */
const SECRET_INPUTS = ["baseUrl", "webhookUrl", "webhookVerificationKey", "apiKey"];

/** A read by id gives the inputs alone. */
const nameInRun = (props: StoredState): string => (props.applied ? nameOf(expandState(props)) : props.name);

interface StoredReadResult extends Omit<ReadResult, "props"> {
  props: StoredState;
}
