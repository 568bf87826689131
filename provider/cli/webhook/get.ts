import { printUrl } from "../../url.js";
import { EXIT, print, printJson } from "../output.js";
import type { Interruption } from "../run-command.js";
import type { GetOptions } from "../webhook.js";
import { openWorkspace } from "./access.js";
import { formatRegistration, toShown } from "./registration-lines.js";

/** Prints what is registered. Gives the exit code. */
export async function getWebhook(options: GetOptions, interruption: Interruption): Promise<number> {
  const { client, credentials, baseUrl } = await openWorkspace(options, interruption);
  const ours = await credentials.findSecret("verificationKey");
  const seen = await client.getWebhook();
  if (seen === undefined) {
    if (options.json) printJson({ registered: false });
    else print(`nothing is registered at ${printUrl(baseUrl)}\n`);
    return EXIT.done;
  }
  const shown = toShown(seen, ours);
  const whole = options.showKey ? { ...shown, key: seen.webhookVerificationKey } : shown;
  if (options.json) printJson({ registered: true, ...whole });
  else print(`registered at ${printUrl(baseUrl)}\n${formatRegistration(whole)}`);
  return EXIT.done;
}
