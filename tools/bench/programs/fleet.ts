/** Runs the same webhooks as a fleet, as a user's file does: `fleet.ts <number of stacks> <command>`. */
import { readFileSync } from "node:fs";
import { runFleetCommand } from "pulumi-apichat/fleet";
import type { Declared } from "./programs.mjs";

const webhooks = JSON.parse(readFileSync("webhooks.json", "utf8")) as Declared[];
const keys = new Map(webhooks.map(({ name, webhookVerificationKey }) => [name, webhookVerificationKey]));

const [stacks] = process.argv.splice(2, 1);
await runFleetCommand({
  name: "bench",
  stacks: Number(stacks),
  workspaces: webhooks.map(({ webhookVerificationKey: _key, ...listed }) => listed),
  webhook: ({ name, baseUrl, apiKey, webhookUrl = "" }) => ({
    baseUrl,
    apiKey,
    webhookUrl,
    webhookVerificationKey: keys.get(name) ?? "",
  }),
});
