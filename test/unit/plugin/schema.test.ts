import { expect, it } from "vitest";
import { RESPONDER_ARGS } from "../../../provider/handshake-responder/inputs.js";
import schema from "../../../provider/plugin/schema.json" with { type: "json" };
import { INPUTS } from "../../../provider/pulumi/resource-inputs.js";

/** A resource or a type. */
interface Spec {
  properties?: Record<string, object & { type?: string }>;
  required?: string[];
  inputProperties?: Record<string, object>;
  requiredInputs?: string[];
  aliases?: { type: string }[];
  enum?: { value: string }[];
}

const resources: Record<string, Spec> = schema.resources;
const types: Record<string, Spec> = schema.types;

const resource = (name: string): Spec => resources[`apichat:index:${name}`] ?? {};
const type = (name: string): Spec => types[`apichat:index:${name}`] ?? {};

it("has the same inputs as the classes, and requires the same ones", () => {
  for (const [name, inputs] of Object.entries(INPUTS)) {
    expect(Object.keys(resource(name).inputProperties ?? {})).toEqual(Object.keys(inputs));
    const outputs = Object.keys(resource(name).properties ?? {});
    // The state does not contain the seed.
    expect(outputs).toEqual(
      expect.arrayContaining(Object.keys(inputs).filter((input) => input !== "derivedFrom")),
    );
    expect(outputs).toEqual(expect.arrayContaining(resource(name).required ?? []));
  }
  expect(Object.keys(resource("Responder").inputProperties ?? {})).toEqual(RESPONDER_ARGS);
  expect(resource("ApiChatWebhook").requiredInputs).toEqual(["webhookUrl", "webhookVerificationKey"]);
  expect(resource("VerificationKey").requiredInputs).toBeUndefined();
  expect(resource("Responder").requiredInputs).toEqual(["workspaces"]);
  expect(schema.provider.inputProperties).toEqual(schema.config.variables);
});

it("marks every key and seed as secret, and nothing else", () => {
  const places = walk(schema).filter(([, value]) => value["secret"] !== undefined);
  const secrets = [
    "apiKey",
    "current",
    "derivedFrom",
    "initial",
    "keys",
    "verificationKeys",
    "webhookVerificationKey",
  ];
  expect([...new Set(places.map(([name]) => name))].toSorted()).toEqual(secrets);
  const unmarked = walk(schema).filter(
    ([name, value]) => secrets.includes(name) && "description" in value && value["secret"] !== true,
  );
  expect(unmarked).toEqual([]);
});

it("has comments for every language, with a list of the sections", () => {
  const comments = walk(schema)
    .flatMap(([, { description }]) => (typeof description === "string" ? description : []))
    .map((text) => text.replace(/\{\{% examples[^]*/, ""))
    .join("\n");
  const names = walk(schema).flatMap(([, { properties, inputProperties }]) =>
    Object.keys({ ...(properties as object), ...(inputProperties as object) }),
  );
  const spelt = new Set(names.filter((name) => /[A-Z]/.test(name) && comments.includes(`\`${name}\``)));
  expect([...spelt]).toEqual([]);
  expect(comments).toMatch(
    /\(section 4\.3 of the specification, listed in docs\/reference\/spec-coverage\.yaml\)/,
  );
  expect(comments).not.toMatch(/section [\d.]+\)/);
});

it("has no default and no environment variable: an SDK would put them into the state", () => {
  const given = walk(schema).filter(([, value]) => "default" in value || "defaultInfo" in value);
  expect(given).toEqual([]);
});

it("has the alias of each dynamic resource that the plugin can take over", () => {
  const aliases = Object.entries(resources).map(([token, spec]) => [token, spec.aliases]);
  expect(Object.fromEntries(aliases)).toEqual({
    "apichat:index:ApiChatWebhook": [{ type: "pulumi-nodejs:dynamic/apichat:ApiChatWebhook" }],
    "apichat:index:VerificationKey": [{ type: "pulumi-nodejs:dynamic/apichat:VerificationKey" }],
    "apichat:index:Responder": undefined,
  });
});

it("has strings for enums, lists for one or more values, and integers", () => {
  const webhook = resource("ApiChatWebhook");
  expect(webhook.inputProperties?.["onExisting"]).toMatchObject({
    oneOf: [{ type: "string" }, { $ref: "#/types/apichat:index:OnExisting" }],
  });
  expect(webhook.properties?.["onExisting"]?.type).toBe("string");
  expect(type("OnExisting").enum).toEqual([{ value: "fail" }, { value: "replace" }]);
  expect(type("Preflight").enum?.map(({ value }) => value)).toEqual(["require", "warn", "off"]);
  const list = { type: "array", items: { type: "string" } };
  expect(resource("VerificationKey").inputProperties?.["derivedFrom"]).toMatchObject(list);
  expect(type("ResponderWorkspace").properties?.["verificationKeys"]).toMatchObject(list);
  const kinds = walk(schema).flatMap(([name, { type: kind }]) =>
    kind === "integer" || kind === "number" ? [`${name} ${kind}`] : [],
  );
  expect([...new Set(kinds)].toSorted()).toEqual([
    "bytes integer",
    "keep integer",
    "pid integer",
    "port integer",
    "readySeconds number",
    "requestSeconds number",
  ]);
});

/** Every object in the schema, with its name. */
function walk(value: unknown, name = ""): (readonly [name: string, value: Record<string, unknown>])[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, one]) => walk(one, key));
  return Array.isArray(value) ? inner : [[name, value as Record<string, unknown>], ...inner];
}
