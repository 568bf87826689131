/** Runs the same webhooks as a fleet, as a user's file does: `fleet.ts <number of stacks> <command>`. */
import { readFileSync } from "node:fs";
import { runFleetCommand } from "pulumi-apichat/fleet";
import type { Declared } from "./programs.mjs";

const { BENCH_VERIFICATION_KEY = "", BENCH_KEY_SEED, BENCH_ROTATION = "first" } = process.env;

const webhooks = JSON.parse(readFileSync("webhooks.json", "utf8")) as Declared[];

const [stacks] = process.argv.splice(2, 1);
await runFleetCommand({
  name: "bench",
  stacks: Number(stacks),
  rotations: [BENCH_ROTATION],
  workspaces: webhooks.map(({ name, baseUrl, apiKey, webhookUrl }) => ({
    name,
    baseUrl,
    apiKey,
    webhookUrl,
  })),
  webhook: ({ baseUrl, apiKey, webhookUrl = "" }, { rotations }) => ({
    baseUrl,
    apiKey,
    webhookUrl,
    // One key for all workspaces, or with a seed one for each.
    webhookVerificationKey: BENCH_KEY_SEED
      ? { derivedFrom: BENCH_KEY_SEED, rotations }
      : BENCH_VERIFICATION_KEY,
  }),
});
