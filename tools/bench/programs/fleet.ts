/** The same webhooks as a fleet: its program, and the file that a user runs: `fleet.ts <number of stacks> <command>`. */
import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook, VerificationKey } from "pulumi-apichat";
import type { FleetProgram } from "pulumi-apichat/fleet";

const { BENCH_VERIFICATION_KEY = "", BENCH_KEY_SEED, BENCH_ROTATION = "first" } = process.env;

/** One key for all workspaces, or with a seed one for each. */
const declareWebhooks: FleetProgram = ({ workspaces, rotations }) => {
  const keyOf = (name: string): pulumi.Input<string> =>
    BENCH_KEY_SEED === undefined
      ? `${BENCH_VERIFICATION_KEY}-${rotations[0]}`
      : new VerificationKey(name, { derivedFrom: pulumi.secret(BENCH_KEY_SEED), rotations: [...rotations] })
          .current;
  return Object.fromEntries(
    workspaces.map(({ name, webhookUrl = "", ...args }) => [
      name,
      new ApiChatWebhook(name, { ...args, webhookUrl, webhookVerificationKey: keyOf(name) }),
    ]),
  );
};
export default declareWebhooks;

if (import.meta.main) {
  const { runFleetCommand } = await import("pulumi-apichat/fleet");
  const [stacks] = process.argv.splice(2, 1);
  const { readWebhooks } = await import("./programs.mjs");
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
    program: import.meta.url,
  });
}
