import * as pulumi from "../pulumi/sdk.js";
import { UNKNOWN } from "../pulumi/unknown.js";
import { previewCreate } from "./foresee.js";
import { Run } from "./run.js";
import type { WebhookInputs } from "./state.js";

const DECISIVE = ["baseUrl", "apiKey", "webhookUrl", "webhookVerificationKey", "onExisting"] as const;

/** Members of an output that the SDK's types hide. */
export interface Settling {
  isKnown: Promise<boolean>;
  promise(): Promise<unknown>;
}

/**
 * Reports, under the resource in the preview, what its create would find. Rejects on a conflict. Reads the inputs
 * from the resource's outputs, because check and the program's transforms may have changed the arguments.
 */
export async function reportCreate(webhook: pulumi.Resource, name: string): Promise<void> {
  const outputs = webhook as unknown as Record<string, Settling | undefined>;
  const values = DECISIVE.map(async (input) => {
    const output = outputs[input];
    const value = output && ((await output.isKnown) ? await output.promise() : UNKNOWN);
    return [input, value ?? undefined];
  });
  const inputs = { name, ...Object.fromEntries(await Promise.all(values)) } as WebhookInputs;
  // A new Run, because a process may run several programs; check already rejects two resources for one workspace.
  const run = new Run();
  run.configure({ config: { get: pulumi.runtime.getConfig } });
  const { seen, conflict, line } = await previewCreate(inputs, { run });
  if (line) await (line.kind === "warning" ? pulumi.log.warn : pulumi.log.info)(line.text, webhook);
  if (!conflict) return;
  const { message } = conflict.with({ subject: name });
  // A replacement looks like a create here, but finds its own webhook, which is not a conflict.
  if (seen?.webhookVerificationKey === inputs.webhookVerificationKey)
    return pulumi.log.warn(`unless this is a replacement, pulumi up will fail: ${message}`, webhook);
  await pulumi.log.error(message, webhook);
  // Throw too: a logged error fails only Automation API programs. The SDK prints `stack`, so keep it short.
  const text = `${name}: ${conflict.code}`;
  throw Object.assign(new pulumi.ResourceError(text, webhook, true), { stack: text });
}
