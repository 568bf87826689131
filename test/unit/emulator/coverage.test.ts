import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CONTROL_ROUTES } from "../../../provider/emulator/control/shapes.js";
import { faultRule } from "../../../provider/emulator/faults.js";
import { switches } from "../../../provider/emulator/switches.js";
import type { RegistrationAction } from "../../../schema/index.js";
import { coverage, coveragePage, formatCoverage } from "../../../tools/spec-coverage/coverage.ts";
import { replyKinds } from "../../../tools/spec-coverage/delivery-rows.ts";
import { messageOperations } from "../../../tools/spec-coverage/message-rows.ts";
import type { Parts } from "../../../tools/spec-coverage/row.ts";
import { parseJsonSchemas, walkFields } from "../schema/json-schema-fields.js";
import { operations } from "./messages-harness.js";

const root = new URL("../../../", import.meta.url);
const covered = new Set(coverage.flatMap(({ fields = [] }) => fields));
const told = new Set(coverage.map(({ what }) => what));

const missingFrom = (all: readonly string[]): string[] => all.filter((what) => !told.has(what));

/** Every field of the generated JSON Schemas, such as `inbound attachments[].data_url`; an entry of a list is none itself. */
function listFields(): string[] {
  const folder = new URL("schema/", root);
  const names = readdirSync(folder).filter((name) => name.endsWith(".schema.json"));
  const texts = names.map((name) => [name, readFileSync(new URL(name, folder), "utf8")] as const);
  const files = parseJsonSchemas(new Map(texts));
  const paths = [...files.keys()].flatMap((file) =>
    walkFields(files, `${file}#`).fields.map(({ path }) => `${file.replace(".schema.json", "")} ${path}`),
  );
  const named = paths.map((path) => path.replaceAll(/\.0(?=\.|$)/g, "[]"));
  return [...new Set(named)].filter((path) => !path.endsWith("[]"));
}

describe("the table of coverage holds", () => {
  test("every field of the specification, and none that it does not have", () => {
    const fields = listFields();
    expect(fields.length).toBeGreaterThan(45);
    expect([...covered].toSorted()).toEqual(fields.toSorted());
  });

  test("every operation and every state", () => {
    const actions: RegistrationAction[] = ["get-webhook", "set-webhook", "delete-webhook"];
    expect(missingFrom(actions)).toEqual([]);
    expect(missingFrom(Object.keys(operations))).toEqual([]);
    expect(messageOperations).toEqual(Object.keys(operations));
    expect(missingFrom(replyKinds.map((kind) => `kind ${kind}`))).toEqual([]);
    const states = coverage.filter(({ section, what }) => section === "3" && what.startsWith("state "));
    expect(states.map(({ what }) => what.replace(/,.*/, ""))).toEqual(["state `verified`", "state empty"]);
  });

  test("each field in every part that sends or takes it", () => {
    const partsOf: Record<string, readonly (keyof Parts)[]> = {
      "registration-requests": ["client", "resource"],
      "registration-envelope": ["client", "resource"],
      "webhook-configuration": ["client", "resource"],
      handshake: ["resource", "responder"],
      inbound: ["client"],
      outbound: ["responder"],
      "received-outbound": ["responder"],
    };
    const lacking = coverage.flatMap(({ fields = [], parts = {} }) =>
      fields.filter((field) => partsOf[field.split(" ")[0] ?? ""]?.every((part) => parts[part]) !== true),
    );
    expect(lacking).toEqual([]);
  });

  test("every section that describes the service", () => {
    const sections = new Set(coverage.map(({ section }) => section));
    const expected = ["2.1", "2.2", "2.3", "2.4", "3", "4.1", "4.2", "4.3", "5", "6.1", "6.2", "7", "8"];
    expect([...sections].filter((section) => section !== "")).toEqual(expected);
  });

  test("every switch, at exactly one open point", () => {
    expect(coverage.flatMap((row) => row.switches ?? []).toSorted()).toEqual(
      Object.keys(switches).toSorted(),
    );
  });

  test("every route of the control API", () => {
    const routes = coverage.filter(({ what }) => what.includes(" /_emulator/")).map(({ what }) => what);
    expect(routes).toEqual(CONTROL_ROUTES);
  });

  test("every operation that a fault can strike", () => {
    const matched = faultRule.shape.operation.options.map((operation) => `fault of ${operation}`);
    expect(missingFrom(matched)).toEqual([]);
  });
});

describe("what the table says is there", () => {
  const files = [...new Set(coverage.flatMap(({ where }) => where))];
  test.each(files)("%s", (file) => expect(existsSync(new URL(file, root))).toBe(true));

  const shown = coverage.flatMap(({ shownBy, parts = {} }) => [shownBy, ...Object.values(parts)]);
  const tests = new Map(shown.map((reference) => [reference.join(": "), reference]));
  test.each([...tests.values()])("%s: %s", (file, name) => {
    const source = readFileSync(new URL(file, root), "utf8");
    const spelled = [`"`, "'", "`"].map((quote) => `${quote}${name}${quote},`);
    expect(spelled.some((text) => source.includes(text))).toBe(true);
  });
});

test("its page is written (else run: node tools/spec-coverage/main.ts)", () => {
  expect(readFileSync(coveragePage, "utf8")).toBe(formatCoverage());
});
