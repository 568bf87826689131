import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, test } from "vitest";
import { resolveEngine } from "../../tools/engine/resolve.ts";

const schema = fileURLToPath(new URL("../../provider/plugin/schema.json", import.meta.url));

test("the engine accepts the plugin's schema", async () => {
  const { command } = await resolveEngine();
  const { exitCode, all } = await execa(command, ["schema", "check", schema], { all: true, reject: false });
  expect({ exitCode, all }).toEqual({ exitCode: 0, all: "" });
});
