import { readFile, readdir } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { inflateSync } from "node:zlib";
import { execa } from "execa";
import { beforeAll, expect, test } from "vitest";
import { makeFolder } from "../support/folder.ts";
import { root } from "../support/pages.ts";

/** The text of every file of the site, keyed by path. */
const files = new Map<string, string>();

/** Builds the site, as `npm run docs` does. Fails on a warning. */
beforeAll(async () => {
  const folder = await makeFolder();
  await execa("typedoc", ["--options", ".typedoc.json", "--out", folder], { cwd: root, preferLocal: true });
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) files.set(path.slice(folder.length + 1), await readFile(path, "utf8"));
  }
});

test("every link on every page leads to a file of the site and an existing heading", () => {
  const pages = [...files].filter(([path]) => path.endsWith(".html"));
  expect(pages.length).toBeGreaterThan(100);
  const ids = new Map(
    pages.map(([path, text]) => [path, new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id))]),
  );
  const broken = pages.flatMap(([path, text]) =>
    [...text.matchAll(/\s(?:href|src|srcset)="([^"]*)"/g)]
      .map(([, target = ""]) => target.replaceAll("&amp;", "&"))
      .filter((target) => !/^(?:https?|mailto|data):/.test(target))
      .filter((target) => {
        const [file = "", anchor = ""] = target.split("#").map(decodeURIComponent);
        const found = file === "" ? path : normalize(join(dirname(path), file));
        return !files.has(found) || (anchor !== "" && ids.get(found)?.has(anchor) === false);
      })
      .map((target) => `${path}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test("the first page has one heading, and loads nothing from other hosts", () => {
  const page = files.get("index.html") ?? "";
  expect([...page.matchAll(/<h1\b/g)]).toHaveLength(1);
  expect(page).not.toMatch(/<(?:script|link|img)\b[^>]*(?:src|href)="https?:/);
});

test("the sidebar shows all groups, and modules under the names that programs import", () => {
  const [, data = ""] = /"([^"]+)"/.exec(files.get("assets/navigation.js") ?? "") ?? [];
  const navigation = inflateSync(Buffer.from(data, "base64")).toString();
  const groups = JSON.parse(navigation) as { text: string }[];
  const shown = groups.map(({ text }) => text).join(", ");
  expect(shown).toBe("Guide, Operate, Reference, Modules, Examples, Project");
  expect(navigation).toContain('"text":"pulumi-apichat/client"');
  expect(navigation).toContain('"text":"Key rotation: VerificationKey"');
});
