import { printUrl } from "../lib/url.js";

/**
 * The one way to take a workspace over from somebody else's webhook: a command to paste. It removes this URL and no other, so
 * what somebody registers meanwhile stays. Query values are hidden, which the command understands.
 */
export const removalCommand = (baseUrl: string, webhookUrl: string): string =>
  `npx apichat webhook delete --base-url ${shellQuote(printUrl(baseUrl))} --webhook-url ${shellQuote(printUrl(webhookUrl))}`;

const shellQuote = (url: string): string => `'${url.replaceAll("'", "%27")}'`;
