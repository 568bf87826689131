import type { FleetDefinition } from "pulumi-apichat/fleet";

/** All keys are derived from this secret: `openssl rand -base64 32` generates one. */
const derivedFrom = process.env["KEY_SEED"] ?? "";

/** The receiver of deliveries: here the responder of responder.json, in production your own product. */
const RECEIVER = "http://127.0.0.1:8080";

/** The definition of the fleet, for the command (fleet.ts) and for Pulumi Cloud (deployments.ts). */
export const definition = {
  name: "example",
  // Default: one per 500 workspaces. Changing the number later is hard.
  stacks: 3,
  // To rotate all keys, prepend a new name, and run: node fleet.ts rotate
  rotations: ["2026-09"],
  workspaces: "workspaces.yaml",
  // Each workspace gets a webhook and a derived key.
  webhook: ({ name, baseUrl, apiKey, webhookUrl = `${RECEIVER}/${name}` }, { rotations }) => ({
    baseUrl,
    apiKey,
    webhookUrl,
    webhookVerificationKey: { derivedFrom, rotations },
  }),
} satisfies FleetDefinition;
