import { formatUrl } from "../../lib/url.js";
import { EXIT, printResult, warn } from "../output.js";
import type { Run } from "../run-command.js";
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

/** Prints what is registered. Returns the exit code. */
export async function getWebhook(options: GetOptions, run: Run): Promise<number> {
  const access = await openWorkspace(options, run);
  const at = formatUrl(access.baseUrl);
  const ours = await run.credentials.findSecret("verificationKey");
  const seen = await access.client.getWebhook();
  if (seen === undefined) {
    printResult(options, { registered: false }, () => `nothing is registered at ${at}\n`);
    return EXIT.done;
  }
  const otherBot = await describeOtherBot(seen, access);
  if (otherBot !== undefined) warn(`${otherBot}; check the base URL and the API key`);
  const how = { ours, showKey: options.showKey };
  printResult(
    options,
    { registered: true, ...toShown(seen, how) },
    () => `registered at ${at}\n${formatRegistration(seen, how)}`,
  );
  return EXIT.done;
}
