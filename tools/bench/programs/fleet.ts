/** The same webhooks as a fleet, as the file that a user runs: `fleet.ts <number of stacks> <command>`. */
import { runFleetCommand } from "pulumi-apichat/fleet";
import { readWebhooks } from "./programs.mjs";

const { BENCH_VERIFICATION_KEY = "", BENCH_KEY_SEED, BENCH_ROTATION = "first" } = process.env;

const [stacks] = process.argv.splice(2, 1);
await runFleetCommand({
  name: "bench",
  stacks: Number(stacks),
  rotations: [BENCH_ROTATION],
  workspaces: readWebhooks().map(({ name, baseUrl, apiKey, webhookUrl }) => ({
    name,
    baseUrl,
    apiKey,
    webhookUrl,
  })),
  // One key for all workspaces, or with a seed one for each.
  webhook: ({ baseUrl, apiKey, webhookUrl = "" }, { rotations }) => ({
    baseUrl,
    apiKey,
    webhookUrl,
    webhookVerificationKey:
      BENCH_KEY_SEED === undefined
        ? `${BENCH_VERIFICATION_KEY}-${rotations[0]}`
        : { derivedFrom: BENCH_KEY_SEED, rotations },
  }),
});
