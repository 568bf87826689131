/** All workspaces of the list in one stack, by the program of the fleet. */
import { readFileSync } from "node:fs";
import declareWebhooks from "./fleet.mjs";

await declareWebhooks({
  name: "bench",
  index: 0,
  workspaces: JSON.parse(readFileSync("workspaces.json", "utf8")),
  rotation: undefined,
});
