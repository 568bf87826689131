import type { FleetDefinition } from "pulumi-apichat/fleet";

/** What the fleet is: for the command (fleet.ts), and for Pulumi itself (stack.ts). */
export const definition = {
  name: "example",
  // Left out, there is one for each 500 workspaces. The number cannot be changed lightly.
  stacks: 3,
  // To rotate all keys, put a new name in front, and run: node fleet.ts rotate
  rotations: ["2026-09"],
  workspaces: "workspaces.yaml",
  program: new URL("./program.ts", import.meta.url),
} satisfies FleetDefinition;
