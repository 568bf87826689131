import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import type * as z from "zod";
import { reviveConversationId } from "../../../schema/message-kind.js";
import * as shapes from "../../../schema/index.js";
import samples from "../../../schema/samples.json" with { type: "json" };
import { jsonSchemas, walkFields } from "./json-schema-fields.js";
import { isContainer, missing, putAt, toJson, valueAt } from "./values.js";

const ajv = new Ajv({ strict: true, allowUnionTypes: true });
for (const [file, schema] of jsonSchemas) ajv.addSchema(schema, file);

/** Each shape on the wire, its JSON Schema, and the name of its sample if that is not the shape's name. */
const SHAPES: [name: string, file: string, sample?: keyof typeof samples][] = [
  ["GetWebhookRequest", "registration-requests.schema.json#/definitions/"],
  ["SetWebhookRequest", "registration-requests.schema.json#/definitions/"],
  ["DeleteWebhookRequest", "registration-requests.schema.json#/definitions/"],
  ["WebhookConfiguration", "webhook-configuration.schema.json#"],
  ["RegistrationEnvelope", "registration-envelope.schema.json#"],
  ["HandshakeParameters", "handshake.schema.json#"],
  ["InboundTextMessage", "inbound.schema.json#/definitions/"],
  ["InboundButtonMessage", "inbound.schema.json#/definitions/"],
  ["InboundMediaMessage", "inbound.schema.json#/definitions/", "InboundImageMessage"],
  ["OutboundText", "outbound.schema.json#/definitions/"],
  ["OutboundMedia", "outbound.schema.json#/definitions/", "OutboundImage"],
  ["OutboundButtonTemplate", "outbound.schema.json#/definitions/"],
  ["OutboundGenericTemplate", "outbound.schema.json#/definitions/"],
];

const SCALARS = [missing, null, true, false, 0, 1, 2, -7, 1.5, Number.MAX_SAFE_INTEGER, 9007199254740993n];
const CONTAINERS = [[], ["x"], [1], {}, { x: "x" }, { 1: "x" }];
const TEXTS = `x|👋|0|-7|9007199254740993|${"1".repeat(41)}|4 2|1.5|false|no|ok|error
  |incoming|outgoing|contact|message_created|message_postback|subscribe
  |text|image|audio|video|file|button_template|generic_template|horizontal
  |http://localhost:3000|https://a.example/hook?x=1|HTTPS://a.example|https://[::1]:8443/ü
  |https://a.example/a b|https://|https:///x|ftp://a.example/|data:,A|//a.example/x|///a|//|/hook
  |a.example|localhost:3000`;

/** Each field of a sample is set to each of these values, while its other fields stay valid. */
const PROBES = [...SCALARS, "", " ", " https://a.example", ...TEXTS.split(/\s*\|/), ...CONTAINERS];

/** Returns the probes for a field, among them values that resemble its valid value. */
function probesOf(right: unknown): unknown[] {
  if (typeof right === "string") return [...PROBES, `${right}s`, right.toUpperCase()];
  return isContainer(right) ? [...PROBES, [right, right], Object.values(right)] : PROBES;
}

/** Returns the paths of all fields that the shape allows in the sample, and of an unknown field in each object. */
function pathsOf(ref: string, valid: Record<string, unknown>): string[] {
  const fields = new Set(walkFields(ref).map(({ path }) => path));
  const known = [...fields].filter((path) => isContainer(valueAt(valid, path.split(".").slice(0, -1))));
  const objects = known.filter((path) => {
    const value = valueAt(valid, path.split("."));
    return isContainer(value) && !Array.isArray(value);
  });
  return [...known, "extra", ...objects.map((path) => `${path}.extra`)];
}

/** Returns whether zod accepts a value in JSON text, and whether the JSON Schema does. */
function judge(zod: z.ZodType, ref: string, text: string) {
  const validate = ajv.getSchema(ref);
  if (validate === undefined) throw new Error(`no JSON Schema at ${ref}`);
  return {
    zod: zod.safeParse(JSON.parse(text, reviveConversationId)).success,
    jsonSchema: validate(JSON.parse(text)),
  };
}

const zodByName: Record<string, unknown> = shapes;

const cases = SHAPES.flatMap(([name, file, sample = name as keyof typeof samples]) => {
  const valid: Record<string, unknown> = samples[sample];
  const ref = file.endsWith("/") ? file + name : file;
  const zod = zodByName[name.charAt(0).toLowerCase() + name.slice(1)] as z.ZodType;
  return pathsOf(ref, valid).flatMap((path) =>
    probesOf(valueAt(valid, path.split("."))).map((probe) => {
      const text = toJson(putAt(valid, path, probe));
      return { name, path, text, ...judge(zod, ref, text) };
    }),
  );
});

describe("zod and JSON Schema agree on", () => {
  it("each value of each field", () => {
    expect(cases.length).toBeGreaterThan(5_000);
    expect(cases.filter(({ zod, jsonSchema }) => zod !== jsonSchema)).toEqual([]);
  });

  it.each([
    { ref: "inbound.schema.json", zod: shapes.inboundMessage, prefix: "Inbound" },
    { ref: "outbound.schema.json", zod: shapes.outboundMessage, prefix: "Outbound" },
  ])("the union in $ref and its members", ({ ref, zod, prefix }) => {
    const verdicts = cases
      .filter(({ name }) => name.startsWith(prefix))
      .map(({ text }) => ({ text, ...judge(zod, ref, text) }));
    expect(verdicts.filter((verdict) => verdict.zod !== verdict.jsonSchema)).toEqual([]);
  });
});

it("every generated file, definition and field has a description, and none contains a link to code", () => {
  const undescribed = [...jsonSchemas].flatMap(([file, schema]) => [
    ...[[file, schema] as const, ...Object.entries(schema.definitions ?? {})]
      .filter(([, { description }]) => !description)
      .map(([name]) => `${file} ${name}`),
    ...walkFields(`${file}#`)
      .filter((field) => !field.path.endsWith(".0") && !field.schema.description)
      .map(({ path }) => `${file} ${path}`),
  ]);
  expect(undescribed).toEqual([]);
  expect(JSON.stringify([...jsonSchemas])).not.toContain("{@link");
});
