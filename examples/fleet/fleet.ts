import { runFleetCommand } from "pulumi-apichat/fleet";

// node fleet.ts plan | up | bot-urls | watch | rotate | destroy …
await runFleetCommand({
  name: "example",
  // Left out, there is one for each 500 workspaces. The number cannot be changed lightly.
  stacks: 3,
  // To rotate all keys, put a new name in front, and run: node fleet.ts rotate
  rotations: ["2026-09"],
  workspaces: "workspaces.yaml",
  program: new URL("./program.ts", import.meta.url),
});
