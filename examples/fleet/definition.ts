import type { FleetDefinition } from "pulumi-apichat/fleet";

/** All keys are derived from this secret: `openssl rand -base64 32` makes one. */
const derivedFrom = process.env["KEY_SEED"] ?? "";

/** What answers handshakes: here the responder of responder.json, in production your own product. */
const RECEIVER = "http://127.0.0.1:8080";

/** What the fleet is: for the command (fleet.ts), and for Pulumi Cloud (deployments.ts). */
export const definition = {
  name: "example",
  // Left out, there is one for each 500 workspaces. The number cannot be changed lightly.
  stacks: 3,
  // To rotate all keys, put a new name in front, and run: node fleet.ts rotate
  rotations: ["2026-09"],
  workspaces: "workspaces.yaml",
  // What each workspace gets: a webhook, and a key that is derived for it.
  webhook: ({ name, baseUrl, apiKey, webhookUrl = `${RECEIVER}/${name}` }, { rotations }) => ({
    baseUrl,
    apiKey,
    webhookUrl,
    webhookVerificationKey: { derivedFrom, rotations },
  }),
} satisfies FleetDefinition;
