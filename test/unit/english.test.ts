import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/pages.ts";

/** Words that read like a translation, and what native speakers in this field write instead. */
const PATTERNS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bmend(s|ed|ing)?\b/i, "fix"],
  [/\bflaws?\b/i, "issue"],
  [/\btold\b/i, "reported, called with"],
  [/\bunder way\b/i, "in progress"],
  [/\bleft alone\b/i, "unchanged"],
  [/\blookers?\b/i, "inspect"],
  [/(?:\/\*\*|^\s*\*|\/\/) Gives\b/, "Returns"],
  [/\bnevertheless\b/i, "anyway"],
  [/\ball the same\b/i, "anyway"],
  [/\bbesides\b/i, "in addition to"],
  [/\bso (many|long)\b(?! as\b)/i, "this many"],
  [/\bwhite space\b/i, "whitespace"],
  [/\bin clear\b(?! text)/i, "unencrypted, unmasked"],
  [/\bwrong use\b/i, "usage error"],
  [/\bholds up\b/i, "delays"],
  [/\bbe had\b/i, "is available"],
  [/\bwhoever\b/i, "name the thing"],
  [/\b(LEAST|MOST|LONGEST|LARGEST)_/, "MIN_, MAX_"],
  [/\ban? \w+ of (its|their|your|my) own\b/i, "its own thing"],
  [/\bof yours\b/i, "your own thing"],
  [/\bput back\b/i, "restore"],
  [/\band not before\b/i, "only once"],
  [
    /^\s*(?:(?:test|it|describe)[\w.]*|\](?: as const)?\))\(["'`](?:and|that|which)\b/,
    "a title with a subject",
  ],
];

const files = ["provider", "schema", "docs", "examples", "test", "tools"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))),
  )
  .filter(
    (path) => /^(?!.*node_modules).*\.(?:tsx?|mjs|md)$/.test(path) && path !== "test/unit/english.test.ts",
  )
  .concat("README.md", "CONTRIBUTING.md", "CHANGELOG.md");

test("comments, messages, tests and pages contain no words that read like a translation", () => {
  expect(files.length).toBeGreaterThan(200);
  const found = files.flatMap((path) =>
    readFileSync(join(root, path), "utf8")
      .split("\n")
      .flatMap((line, index) =>
        PATTERNS.filter(([pattern]) => pattern.test(line)).map(
          ([, instead]) => `${path}:${index + 1}: ${line.trim()} (${instead})`,
        ),
      ),
  );
  expect(found).toEqual([]);
});
