/** The same webhooks as a fleet: its program, and the file that a user runs: `fleet.ts <number of stacks> <door> <command>`. */
import type { FleetDefinition, FleetProgram } from "pulumi-apichat/fleet";

const { BENCH_VERIFICATION_KEY = "", BENCH_KEY_SEED, BENCH_ROTATION = "first" } = process.env;

/** One key for all workspaces, or with a seed one for each. */
const declareWebhooks: FleetProgram = ({ workspaces, rotations }) => {
  const webhookVerificationKey =
    BENCH_KEY_SEED === undefined
      ? `${BENCH_VERIFICATION_KEY}-${rotations[0]}`
      : { derivedFrom: BENCH_KEY_SEED, rotations };
  return Object.fromEntries(
    workspaces.map(({ name, baseUrl, apiKey, webhookUrl = "" }) => [
      name,
      { baseUrl, apiKey, webhookUrl, webhookVerificationKey },
    ]),
  );
};
export default declareWebhooks;

if (import.meta.main) {
  const { runFleetCommand } = await import("pulumi-apichat/fleet");
  const [stacks, provider] = process.argv.splice(2, 2);
  const { readWebhooks } = await import("./programs.mjs");
  await runFleetCommand({
    name: "bench",
    stacks: Number(stacks),
    provider: provider as FleetDefinition["provider"],
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
