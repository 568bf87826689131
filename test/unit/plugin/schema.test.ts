import { readFileSync } from "node:fs";
import type * as pulumi from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import type {
  HandshakeResponder,
  HandshakeResponderArgs,
  ResponderWorkspaceArgs,
} from "../../../provider/handshake-responder/handshake-responder.js";
import type {
  VerificationKey,
  VerificationKeyArgs,
} from "../../../provider/verification-key/verification-key.js";
import type {
  ApiChatWebhook,
  ApiChatWebhookArgs,
  GetApiChatWebhookArgs,
  GetApiChatWebhookResult,
} from "../../../provider/webhook/webhook.js";
import { generatePulumiSchema } from "../../../tools/schema/pulumi.js";

interface Property {
  type?: string;
  description?: string;
  secret?: boolean;
  oneOf?: { type?: string; $ref?: string }[];
}

interface ObjectSpec {
  description?: string;
  properties?: Record<string, Property>;
  required?: string[];
}

interface ResourceSpec extends ObjectSpec {
  inputProperties: Record<string, Property>;
  requiredInputs?: string[];
  aliases?: { type: string }[];
}

interface Schema {
  config: { variables: Record<string, Property> };
  provider: ResourceSpec;
  resources: Record<string, ResourceSpec>;
  functions: Record<string, { inputs: ObjectSpec; outputs: ObjectSpec }>;
  types: Record<string, ObjectSpec & { enum?: { value: string }[] }>;
}

const text = readFileSync(new URL("../../../provider/plugin/schema.json", import.meta.url), "utf8");
const schema = JSON.parse(text) as Schema;

const resource = (name: string): ResourceSpec => {
  const found = schema.resources[`apichat:index:${name}`];
  if (found === undefined) throw new Error(`no resource ${name}`);
  return found;
};
const type = (name: string) => schema.types[`apichat:index:${name}`] ?? {};
const lookUp = schema.functions["apichat:index:getApiChatWebhook"];

const namesOf = (properties: Record<string, unknown> = {}): string[] => Object.keys(properties).toSorted();

/** The names of all properties of a type, which the compiler holds to be all. */
const all = <T>(names: Record<keyof T, true>): string[] => namesOf(names);

/** What the class has of its own. */
type Own<T> = Omit<T, keyof pulumi.CustomResource>;

const webhookInputs = all<ApiChatWebhookArgs>({
  webhookUrl: true,
  webhookVerificationKey: true,
  baseUrl: true,
  apiKey: true,
  onExisting: true,
  preflight: true,
  timeouts: true,
});
const webhookOutputs = all<Own<ApiChatWebhook>>({
  botUrl: true,
  status: true,
  webhookUrl: true,
  baseUrl: true,
  webhookVerificationKey: true,
});
const keyInputs = all<VerificationKeyArgs>({
  rotation: true,
  keep: true,
  bytes: true,
  initial: true,
  derivedFrom: true,
  subject: true,
  rotations: true,
});
const keyOutputs = all<Own<VerificationKey>>({ current: true, keys: true });
const workspace = all<ResponderWorkspaceArgs>({
  verificationKeys: true,
  subject: true,
  path: true,
  forwardTo: true,
});
const responderInputs = all<HandshakeResponderArgs>({
  workspaces: true,
  derivedFrom: true,
  rotations: true,
  port: true,
  host: true,
  publicUrl: true,
  dataDir: true,
});
const responderOutputs = all<Own<HandshakeResponder>>({
  urls: true,
  port: true,
  pid: true,
  dataDir: true,
  healthUrl: true,
});

it("is what the generator writes (else run: node tools/schema/generate.ts)", () => {
  expect(text).toBe(generatePulumiSchema());
});

describe("properties are those of the classes", () => {
  it.each([
    ["ApiChatWebhook", webhookInputs, [...webhookInputs, ...webhookOutputs]],
    // The seed does not enter the state.
    ["VerificationKey", keyInputs, [...keyInputs.filter((name) => name !== "derivedFrom"), ...keyOutputs]],
    ["Responder", responderInputs, responderOutputs],
  ])("%s", (name, inputs, outputs) => {
    expect(namesOf(resource(name).inputProperties)).toEqual(inputs);
    expect(namesOf(resource(name).properties)).toEqual([...new Set(outputs)].toSorted());
  });

  it("of parts and functions", () => {
    expect(namesOf(type("WebhookTimeouts").properties)).toEqual(["readySeconds", "requestSeconds"]);
    expect(namesOf(type("ResponderWorkspace").properties)).toEqual(workspace);
    expect(namesOf(lookUp?.inputs.properties)).toEqual(
      all<GetApiChatWebhookArgs>({ baseUrl: true, apiKey: true }),
    );
    expect(namesOf(lookUp?.outputs.properties)).toEqual(
      all<GetApiChatWebhookResult>({ webhookUrl: true, status: true, botUrl: true }),
    );
    expect(namesOf(schema.config.variables)).toEqual(["apiKey", "baseUrl"]);
    expect(schema.provider.inputProperties).toEqual(schema.config.variables);
  });

  it("are required where the class requires them", () => {
    expect(resource("ApiChatWebhook").requiredInputs).toEqual(["webhookUrl", "webhookVerificationKey"]);
    expect(resource("ApiChatWebhook").required?.toSorted()).toEqual(webhookOutputs);
    expect(resource("VerificationKey").requiredInputs).toBeUndefined();
    expect(resource("VerificationKey").required?.toSorted()).toEqual(keyOutputs);
    expect(resource("Responder").requiredInputs).toEqual(["workspaces"]);
    expect(resource("Responder").required?.toSorted()).toEqual(responderOutputs);
    expect(lookUp?.outputs.required?.toSorted()).toEqual(namesOf(lookUp?.outputs.properties));
  });
});

it("marks every key and seed as secret, wherever it is, and nothing else", () => {
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

it("has no default and no environment variable: an SDK would put them into the state", () => {
  const given = walk(schema).filter(([, value]) => "default" in value || "defaultInfo" in value);
  expect(given).toEqual([]);
});

it("has the alias of each dynamic resource that the plugin can take over", () => {
  const aliases = Object.entries(schema.resources).map(([token, spec]) => [token, spec.aliases]);
  expect(Object.fromEntries(aliases)).toEqual({
    "apichat:index:ApiChatWebhook": [{ type: "pulumi-nodejs:dynamic/apichat:ApiChatWebhook" }],
    "apichat:index:VerificationKey": [{ type: "pulumi-nodejs:dynamic/apichat:VerificationKey" }],
    "apichat:index:Responder": undefined,
  });
});

it("takes a plain string for an enum, a list where a class takes one or a list, and whole numbers as such", () => {
  const webhook = resource("ApiChatWebhook");
  expect(webhook.inputProperties["onExisting"]?.oneOf).toEqual([
    { type: "string" },
    { $ref: "#/types/apichat:index:OnExisting" },
  ]);
  expect(webhook.properties?.["onExisting"]?.type).toBe("string");
  expect(type("OnExisting").enum).toEqual([{ value: "fail" }, { value: "replace" }]);
  expect(type("Preflight").enum?.map(({ value }) => value)).toEqual(["require", "warn", "off"]);
  const list = { type: "array", items: { type: "string" } };
  expect(resource("VerificationKey").inputProperties["derivedFrom"]).toMatchObject(list);
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

/** Every object in the schema with the name under which it stands. */
function walk(value: unknown, name = ""): (readonly [name: string, value: Record<string, unknown>])[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, one]) => walk(one, key));
  return Array.isArray(value) ? inner : [[name, value as Record<string, unknown>], ...inner];
}
