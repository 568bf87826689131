import { formatUrl } from "../../lib/url.js";
import { EXIT, print, printJson, warn } from "../output.js";
import type { Interruption } from "../run-command.js";
import {
  describeOtherBot,
  formatRegistration,
  openWorkspace,
  toShown,
  type WebhookOptions,
} from "./access.js";

export interface GetOptions extends WebhookOptions {
  showKey?: boolean;
}

/** Prints what is registered. Gives the exit code. */
export async function getWebhook(options: GetOptions, interruption: Interruption): Promise<number> {
  const access = await openWorkspace(options, interruption);
  const { client, credentials, baseUrl } = access;
  const ours = await credentials.findSecret("verificationKey");
  const seen = await client.getWebhook();
  if (seen === undefined) {
    if (options.json) printJson({ registered: false });
    else print(`nothing is registered at ${formatUrl(baseUrl)}\n`);
    return EXIT.done;
  }
  const otherBot = await describeOtherBot(seen, access);
  if (otherBot !== undefined) warn(`${otherBot}; check the base URL and the API key`);
  const shown = { ours, showKey: options.showKey };
  if (options.json) printJson({ registered: true, ...toShown(seen, shown) });
  else print(`registered at ${formatUrl(baseUrl)}\n${formatRegistration(seen, shown)}`);
  return EXIT.done;
}
