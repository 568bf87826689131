import { dirname, join, normalize } from "node:path";
import { execa } from "execa";
import { expect, test } from "vitest";
import { isRelative, readPage, root, targetsOf } from "../support/pages.ts";

test("no page of the npm package links to a file that is not in it", async () => {
  const { stdout } = await execa("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root });
  const [packed] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const paths = new Set(packed.files.map(({ path }) => path));
  const pages = [...paths].filter((path) => path.endsWith(".md"));
  expect(pages.length).toBeGreaterThan(40);
  const dead = pages.flatMap((page) =>
    targetsOf(readPage(page))
      .filter((target) => isRelative(target) && !target.startsWith("#"))
      .filter((target) => !paths.has(normalize(join(dirname(page), target.replace(/#.*/, "")))))
      .map((target) => `${page}: ${target}`),
  );
  expect(dead).toEqual([]);
});
