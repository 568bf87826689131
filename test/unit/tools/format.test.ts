import { fileURLToPath } from "node:url";
import { getFileInfo } from "prettier";
import { expect, test } from "vitest";

const inRepository = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

test.each([
  ["tools/bench/programs/.fleet/Pulumi.yaml", true],
  ["examples/fleet/.fleet/index.mjs", true],
  ["dist/provider/index.js", true],
  ["tools/bench/programs/fleet.ts", false],
])("check:format ignores %s: %s", async (path, ignored) => {
  const ignorePath = [".gitignore", ".prettierignore"].map(inRepository);
  expect(await getFileInfo(inRepository(path), { ignorePath })).toMatchObject({ ignored });
});
