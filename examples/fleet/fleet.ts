import { runFleetCommand } from "pulumi-apichat/fleet";

// node fleet.ts plan | up | bot-urls | watch | rotate | destroy …
await runFleetCommand({
  name: "example",
  // About 100 workspaces in each at the size that the fleet will reach: the number cannot be changed lightly.
  stacks: 3,
  workspaces: "workspaces.yaml",
  program: new URL("./program.ts", import.meta.url),
});
