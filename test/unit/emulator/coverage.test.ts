import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { faultRule } from "../../../provider/emulator/faults.js";
import { switches, type Switches } from "../../../provider/emulator/open-point-options.js";
import { jsonSchemas, walkFields } from "../schema/json-schema-fields.js";
import { CONTROL_ROUTES } from "./harness.js";

const root = new URL("../../../", import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, root), "utf8");

/** The comment at the top of the YAML file explains these keys. All items of `what` share code and tests. */
interface Entry {
  what: string[];
  schemas?: string[];
  switches?: (keyof Switches)[];
  code: string[];
  tests: Partial<Record<"emulator" | "client" | "resource" | "responder", string>>;
}

const sections = parse(read("docs/reference/spec-coverage.yaml")) as { section: string; entries: Entry[] }[];
const coverage = sections.flatMap(({ entries }) => entries);
const listed = coverage.flatMap(({ what }) => what);
/** The fields in the table, such as `inbound sender.id`. */
const covered = coverage.flatMap(({ what, schemas = [] }) =>
  schemas.flatMap((schema) => what.map((name) => `${schema} ${name}`)),
);

const missingFrom = (all: readonly string[]): string[] => all.filter((what) => !listed.includes(what));

/**
 * Lists every field of the generated JSON Schemas, for example `inbound attachments[].data_url`. A list's
 * item as a whole, such as `inbound attachments[]`, is not a field.
 */
function listFields(): string[] {
  const paths = [...jsonSchemas.keys()].flatMap((file) =>
    walkFields(`${file}#`).map(({ path }) => `${file.replace(".schema.json", "")} ${path}`),
  );
  const named = paths.map((path) => path.replaceAll(/\.0(?=\.|$)/g, "[]"));
  return [...new Set(named)].filter((path) => !path.endsWith("[]"));
}

describe("the coverage table contains", () => {
  test("exactly the fields of the specification", () => {
    const fields = listFields();
    expect(fields.length).toBeGreaterThan(45);
    expect(covered.toSorted()).toEqual(fields.toSorted());
  });

  test("every switch exactly once", () => {
    expect(coverage.flatMap(({ switches: own = [] }) => own).toSorted()).toEqual(
      Object.keys(switches).toSorted(),
    );
  });

  test("every route of the control API", () => {
    const routes = listed.filter((what) => what.includes(" /_emulator/"));
    expect(routes.toSorted()).toEqual(CONTROL_ROUTES.toSorted());
  });

  test("every operation that faults can apply to", () => {
    const matched = faultRule.shape.operation.options.map((operation) => `fault of ${operation}`);
    expect(missingFrom(matched)).toEqual([]);
  });
});

describe("everything named in the table exists", () => {
  const files = [...new Set(coverage.flatMap(({ code }) => code))];
  test.each(files)("%s", (file) => expect(existsSync(new URL(file, root))).toBe(true));

  const tests = new Set(coverage.flatMap((entry) => Object.values(entry.tests)));
  test.each([...tests])("%s", (reference) => {
    const [, file = "", title = ""] = /^(\S+) > (.+)$/.exec(reference) ?? [];
    const source = read(file);
    const spelled = [`"`, "'", "`"].flatMap((quote) =>
      [",", ":", "]"].map((end) => quote + title + quote + end),
    );
    expect(spelled.some((text) => source.includes(text))).toBe(true);
  });
});
