import schema from "./schema.json" with { type: "json" };
import { didYouMean, fail, type CheckFailure } from "../lib/checks.js";
import { isPlainName } from "../lib/validate.js";
import type { Path, Values } from "./wire.js";

/** What is read here of the shape of a Pulumi schema. */
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

/** The schema of the package, as the engine and the generators of SDKs take it. */
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

/** By the resource's token, once: every answer asks for them. */
const secretPaths = new Map(
  Object.entries(resources).map(([token, { inputProperties, properties }]) => [
    token,
    secretPathsIn({ ...properties, ...inputProperties }),
  ]),
);

/** Where the schema says that a property of a resource is secret. */
export const secretPathsOf = (token: string): readonly Path[] => secretPaths.get(token) ?? [];

/** A misspelt input would be a setting that does nothing. What check itself has added before comes back in an import. */
export function checkNames(token: string, olds: Values, news: Values): CheckFailure[] {
  const names = Object.keys(resources[token]?.inputProperties ?? {});
  const given = Object.keys(news).filter((name) => !Object.hasOwn(olds, name) && !name.startsWith("__"));
  return refuseOthers(given, names);
}

/** What is no plain name may be a value in the wrong place, and is not shown. */
export const refuseOthers = (
  given: readonly string[],
  accepted: readonly string[],
  where = "",
): CheckFailure[] =>
  given
    .filter((name) => !accepted.includes(name))
    .map((name) => {
      const shown = isPlainName(name) ? `: ${name}${didYouMean(name, accepted)}` : "";
      return fail(`${where}no such input${shown}; the inputs are ${accepted.join(", ")}`);
    });
