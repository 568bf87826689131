import { startAcme, VERIFICATION_KEY, type Acme } from "../webhook/harness.js";
import { resourceOf, secret, startRun, type Marked } from "./harness.js";

// One webhook, acme, as the engine sees it.

export const webhook = resourceOf("ApiChatWebhook");

/** What the program says: marked as an SDK marks it. */
export const programOf = ({ args }: Acme, more: Marked = {}): Marked => {
  const { name: _, apiKey, ...rest } = args;
  const key = secret(VERIFICATION_KEY);
  return { ...rest, webhookVerificationKey: key, apiKey: secret(apiKey), ...more };
};

export interface Created extends Acme {
  id: string;
  inputs: Marked;
  outs: Marked;
}

/** A created webhook, at the start of the next run. */
export async function startCreated(
  more: Marked = {},
  ...options: Parameters<typeof startAcme>
): Promise<Created> {
  const started = await startAcme(...options);
  const inputs = await webhook.checked(programOf(started, more));
  const { id, outs } = await webhook.create(inputs);
  started.actions();
  await startRun();
  return { ...started, id, inputs, outs };
}

export const SECRET_OUTPUTS = ["apiKey", "applied", "webhookVerificationKey"];
