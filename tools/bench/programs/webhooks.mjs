import { readFileSync } from "node:fs";

/**
 * The same arguments for each side.
 *
 * @typedef {object} WebhookArgs
 * @property {string} name
 * @property {string} baseUrl
 * @property {string} apiKey
 * @property {string} webhookUrl
 * @property {string} webhookVerificationKey
 */

/**
 * The webhooks that a program declares: the benchmark writes them into the program's folder.
 *
 * @returns {WebhookArgs[]}
 */
export function readWebhooks() {
  return JSON.parse(readFileSync("webhooks.json", "utf8"));
}
