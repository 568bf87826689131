/** The same webhooks as a fleet: its program, and the file that a user runs: `fleet.ts <number of stacks> <command>`. */
import { ApiChatWebhook } from "pulumi-apichat";
import type { FleetProgram } from "pulumi-apichat/fleet";

// One key for all workspaces, by environment: the fleet's list holds none.
const { BENCH_VERIFICATION_KEY: webhookVerificationKey = "" } = process.env;

const declareWebhooks: FleetProgram = ({ workspaces }) =>
  Object.fromEntries(
    workspaces.map(({ name, webhookUrl = "", ...args }) => [
      name,
      new ApiChatWebhook(name, { ...args, webhookUrl, webhookVerificationKey }),
    ]),
  );
export default declareWebhooks;

if (import.meta.main) {
  const { runFleetCommand } = await import("pulumi-apichat/fleet");
  const [stacks] = process.argv.splice(2, 1);
  const { readWebhooks } = await import("./programs.mjs");
  await runFleetCommand({
    name: "bench",
    stacks: Number(stacks),
    workspaces: readWebhooks().map(({ name, baseUrl, apiKey, webhookUrl }) => ({
      name,
      baseUrl,
      apiKey,
      webhookUrl,
    })),
    program: import.meta.url,
  });
}
