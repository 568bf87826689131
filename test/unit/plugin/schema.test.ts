import { expect, it } from "vitest";
import { RESPONDER_ARGS } from "../../../provider/handshake-responder/inputs.js";
import schema from "../../../provider/plugin/schema.json" with { type: "json" };
import { INPUTS } from "../../../provider/pulumi/resource-inputs.js";

it("each resource in the plugin's schema has the inputs of its class, in the documented order", () => {
  for (const [name, { inputProperties }] of Object.entries(schema.resources)) {
    const type = name.replace("apichat:index:", "");
    const inputs = { ...INPUTS, Responder: undefined }[type as keyof typeof INPUTS];
    expect(Object.keys(inputProperties)).toEqual(inputs ? Object.keys(inputs) : RESPONDER_ARGS);
  }
});

it("the schema marks every key and seed as secret, and nothing else", () => {
  const places = walk(schema).filter(([, value]) => value["secret"] !== undefined);
  const keys = ["apiKey", "current", "initial", "keys", "verificationKeys", "webhookVerificationKey"];
  const secrets = [...keys, "derivedFrom"];
  expect(new Set(places.map(([name]) => name))).toEqual(new Set(secrets));
  const unmarked = walk(schema).filter(
    ([name, value]) => secrets.includes(name) && "description" in value && value["secret"] !== true,
  );
  expect(unmarked).toEqual([]);
});

it("the schema's comments suit every language, and say where the specification's sections are listed", () => {
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

it("the schema has no defaults or environment variables, which an SDK would put into the state", () => {
  const given = walk(schema).filter(([, value]) => "default" in value || "defaultInfo" in value);
  expect(given).toEqual([]);
});

/** Every object in the schema, with its name. */
function walk(value: unknown, name = ""): (readonly [name: string, value: Record<string, unknown>])[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, one]) => walk(one, key));
  return Array.isArray(value) ? inner : [[name, value as Record<string, unknown>], ...inner];
}
