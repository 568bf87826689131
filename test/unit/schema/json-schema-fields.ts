import { readdirSync, readFileSync } from "node:fs";

/** The parts of a JSON Schema that this file reads. */
interface JsonSchema {
  $ref?: string;
  anyOf?: JsonSchema[];
  items?: JsonSchema | JsonSchema[];
  properties?: Record<string, JsonSchema>;
  definitions?: Record<string, JsonSchema>;
  description?: string;
}

/** A field of a shape. In its path, `0` stands for every entry of an array. */
interface Field {
  path: string;
  schema: JsonSchema;
}

const folder = new URL("../../../schema/", import.meta.url);

/** The generated files, by their names. */
export const jsonSchemas = new Map<string, JsonSchema>(
  readdirSync(folder)
    .filter((name) => name.endsWith(".schema.json"))
    .map((name) => [name, JSON.parse(readFileSync(new URL(name, folder), "utf8")) as JsonSchema]),
);

/** Lists all fields of the JSON Schema at `ref`, including those behind `$ref`, in `anyOf` and in arrays. */
export function walkFields(ref: string): Field[] {
  const fields: Field[] = [];
  const [file = ""] = ref.split("#");
  const root = jsonSchemas.get(file);
  if (root === undefined) throw new Error(`no generated file ${file}`);

  const visit = (schema: JsonSchema, path: string): void => {
    if (schema.$ref !== undefined) visit(findDefinition(root, schema.$ref), path);
    for (const branch of schema.anyOf ?? []) visit(branch, path);
    const [entry] = [schema.items ?? []].flat();
    if (entry !== undefined) visitField({ path: `${path}.0`, schema: entry });
    for (const [key, child] of Object.entries(schema.properties ?? {}))
      visitField({ path: path === "" ? key : `${path}.${key}`, schema: child });
  };
  const visitField = (field: Field): void => {
    fields.push(field);
    visit(field.schema, field.path);
  };

  visit(findDefinition(root, ref.slice(file.length)), "");
  return fields;
}

/** The schema at `#` or `#/definitions/<name>`. */
function findDefinition(root: JsonSchema, pointer: string): JsonSchema {
  if (pointer === "#") return root;
  const definition = root.definitions?.[pointer.slice("#/definitions/".length)];
  if (definition === undefined) throw new Error(`nothing at ${pointer}`);
  return definition;
}
