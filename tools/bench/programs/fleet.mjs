/** The same webhooks as a fleet: its program, and the file that a user runs: `fleet.mjs <number of stacks> <command>`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ApiChatWebhook } from "pulumi-apichat";

// One key for all workspaces, by environment: the fleet's list holds none.
const { BENCH_VERIFICATION_KEY: webhookVerificationKey = "" } = process.env;

/** @type {import("pulumi-apichat/fleet").FleetProgram} */
export default function declareWebhooks({ workspaces }) {
  return Object.fromEntries(
    workspaces.map(({ name, webhookUrl = "", ...args }) => [
      name,
      new ApiChatWebhook(name, { ...args, webhookUrl, webhookVerificationKey }),
    ]),
  );
}

if (import.meta.main) {
  const { runFleetCommand } = await import("pulumi-apichat/fleet");
  const [stacks] = process.argv.splice(2, 1);
  /** @type {import("./plain.mjs").WebhookArgs[]} */
  const webhooks = JSON.parse(readFileSync("webhooks.json", "utf8"));
  await runFleetCommand({
    name: "bench",
    stacks: Number(stacks),
    workspaces: webhooks.map(({ name, baseUrl, apiKey, webhookUrl }) => ({
      name,
      baseUrl,
      apiKey,
      webhookUrl,
    })),
    program: import.meta.url,
    dataDir: join(process.cwd(), "data"),
  });
}
