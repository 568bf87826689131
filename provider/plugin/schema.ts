import schema from "./schema.json" with { type: "json" };
import type { CheckFailure } from "../lib/checks.js";
import { refuseOthers } from "../lib/validate.js";
import type { Path } from "../lib/secret-values.js";
import type { Values } from "./wire.js";

/** The part of a Pulumi schema that is read here. */
interface Property {
  secret?: boolean;
  $ref?: string;
  additionalProperties?: Property;
}

type Properties = Record<string, Property>;

interface Resource {
  inputProperties: Properties;
  properties: Properties;
}

const { resources, types } = schema as unknown as {
  resources: Record<string, Resource>;
  types: Record<string, { properties?: Properties }>;
};

/** The schema of the package, for the engine and the SDK generators. */
export const SCHEMA_TEXT = JSON.stringify(schema);

const secretPathsIn = (properties: Properties): Path[] =>
  Object.entries(properties).flatMap(([name, { secret, $ref, additionalProperties }]) => {
    if (secret) return [[name]];
    const inner = typeOf($ref).map((path) => [name, ...path]);
    const ofEach = typeOf(additionalProperties?.$ref).map((path) => [name, "*", ...path]);
    return [...inner, ...ofEach];
  });

const typeOf = (reference = ""): Path[] =>
  secretPathsIn(types[reference.replace("#/types/", "")]?.properties ?? {});

/** By the resource's token. Computed once, because every response needs them. */
const secretPaths = new Map(
  Object.entries(resources).map(([token, { inputProperties, properties }]) => [
    token,
    secretPathsIn({ ...properties, ...inputProperties }),
  ]),
);

/** Where the schema says that a property of a resource is secret. */
export const secretPathsOf = (token: string): readonly Path[] => secretPaths.get(token) ?? [];

/** Inputs that check adds. An import and `ignoreChanges` return them. */
const ADDED_BY_CHECK = new Set(["status", "current", "keys", "instanceKey"]);

/** Rejects unknown inputs, which would otherwise be silently ignored. */
export function checkNames(token: string, news: Values): CheckFailure[] {
  const names = Object.keys(resources[token]?.inputProperties ?? {});
  const given = Object.keys(news).filter((name) => !ADDED_BY_CHECK.has(name) && !name.startsWith("__"));
  return refuseOthers(given, names);
}
