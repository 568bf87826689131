import { readFileSync } from "node:fs";
import ts from "typescript";
import { parse } from "yaml";
import { SECRET_PROPERTIES } from "../../provider/pulumi/resource-inputs.ts";
import { VERSION } from "../../provider/lib/version.ts";
import { inClone } from "../lib/clone.ts";
import { commentOf, exampleOf, membersOf, readDeclarations, type Member } from "./declarations.ts";
import type { JsonObject as Spec } from "./openapi.ts";

/** The content of schema/pulumi.yaml, which is documented there. */
interface Source {
  package: Spec;
  resources: Record<string, ResourceSource>;
  functions: Record<
    string,
    { args: string; result: string; secrets: string[]; example: Record<string, string> }
  >;
  types: Record<string, string>;
  config: Record<string, string>;
  integers: string[];
  /** Phrases of the doc comments, each with a wording that suits every language. */
  wording: readonly (readonly [from: string, to: string])[];
}

interface ResourceSource {
  class: keyof typeof SECRET_PROPERTIES;
  args: string[];
  alias?: boolean;
  neverOut?: string[];
  example: Record<string, string>;
}

/** The context in which properties are converted. */
interface Context {
  /** Collects the types that the properties refer to. */
  types: Record<string, Spec>;
  secrets: readonly string[];
  /** Whether the properties are outputs: where inputs accept an enum or a string, outputs are strings. */
  isOutput?: boolean;
}

const source = parse(readFileSync(inClone("schema/pulumi.yaml"), "utf8")) as Source;
const unusedWording = new Set(source.wording.map(([from]) => from));

/** Rewords a doc comment so that it suits every language. */
const reword = (text: string): string =>
  source.wording.reduce((before, [from, to]) => {
    if (before.includes(from)) unusedWording.delete(from);
    return before.replaceAll(from, to);
  }, text);

/**
 * Rewords a doc comment and joins the lines of each paragraph. After each section number, adds where the sections
 * of the specification are listed: a reader of an SDK's help sees only this comment.
 */
const describe = (comment: string): string =>
  reword(comment.replaceAll(/(?<!\n)\n(?!\n)/g, " ")).replaceAll(
    /\((section [\d.]+)\)/g,
    "($1 of the specification, listed in docs/reference/spec-coverage.yaml)",
  );

const declared = readDeclarations(
  [
    "registration/wanted.ts",
    "webhook/webhook.ts",
    "verification-key/verification-key.ts",
    "handshake-responder/handshake-responder.ts",
  ].map((file) => inClone(`provider/${file}`)),
);

/**
 * Generates provider/plugin/schema.json, the Pulumi package schema of the resource plugin, from
 * schema/pulumi.yaml and the TypeScript classes. The schema has no defaults: an SDK would send them as inputs, so
 * every state would contain them, and a stack that moves from the dynamic provider would show changes. It has no
 * environment variables either: an SDK would put the API key, read from such a variable, into the state.
 */
export function generatePulumiSchema(): string {
  const types: Record<string, Spec> = {};
  const { config, functions, resources } = source;
  const secrets: readonly string[] = SECRET_PROPERTIES.ApiChatWebhook;
  const variables = Object.fromEntries(
    Object.entries(config).map(([name, description]) => [
      name,
      { type: "string", description: describe(description), ...(secrets.includes(name) && { secret: true }) },
    ]),
  );
  const schema = {
    ...source.package,
    version: VERSION,
    config: { variables },
    provider: {
      description: "Defaults for resources without their own settings.",
      properties: variables,
      inputProperties: variables,
    },
    resources: mapToTokens(resources, (one) => toResource(one, types)),
    functions: mapToTokens(functions, (one, name) => toFunction(one, name, types)),
    types: mapToTokens(types, (type) => type),
  };
  // A phrase that no doc comment contains is outdated: a comment has changed.
  if (unusedWording.size > 0)
    throw new Error(`no doc comment contains these phrases of pulumi.yaml: ${[...unusedWording].join("; ")}`);
  return `${JSON.stringify(schema, null, 2)}\n`;
}

const toToken = (name: string): string => `${String(source.package["name"])}:index:${name}`;

const mapToTokens = <T>(values: Record<string, T>, map: (value: T, name: string) => Spec): Spec =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [toToken(name), map(value, name)]));

function toResource(given: ResourceSource, types: Context["types"]): Spec {
  const { neverOut = [] } = given;
  const node = declared(given.class);
  const context = { types, secrets: SECRET_PROPERTIES[given.class] };
  const inputs = given.args.flatMap((name) => membersOf(declared(name)));
  const own = membersOf(node).map((output) => {
    const { comment = "" } = inputs.find(({ name }) => name === output.name) ?? {};
    return { ...output, comment: output.comment || comment };
  });
  const typescript = reword(exampleOf(node)).replaceAll(/new (?=[A-Z])/g, "new apichat.");
  const ownNames = own.map(({ name }) => name);
  const others = inputs.filter(({ name }) => !ownNames.includes(name) && !neverOut.includes(name));
  return {
    description: [describe(commentOf(node)), writeExamples({ typescript, ...given.example })].join("\n\n"),
    properties: toProperties([...others, ...own], { ...context, isOutput: true }),
    required: ownNames,
    inputProperties: toProperties(inputs, context),
    ...nonEmpty("requiredInputs", requiredOf(inputs)),
    ...(given.alias && { aliases: [{ type: `pulumi-nodejs:dynamic/apichat:${given.class}` }] }),
  };
}

const requiredOf = (members: readonly Member[]): string[] =>
  members.filter(({ isOptional }) => !isOptional).map(({ name }) => name);

const nonEmpty = (keyword: string, list: readonly string[]): Spec =>
  list.length === 0 ? {} : { [keyword]: list };

function toFunction(given: Source["functions"][string], name: string, types: Context["types"]): Spec {
  const context = { types, secrets: given.secrets };
  const comments = [name, given.result].map((one) => describe(commentOf(declared(one))));
  return {
    description: [...comments, writeExamples(given.example)].join("\n\n"),
    inputs: toObject(membersOf(declared(given.args)), context),
    outputs: toObject(membersOf(declared(given.result)), context),
  };
}

function toObject(members: readonly Member[], context: Context): Spec {
  const properties = toProperties(members, context);
  return { type: "object", properties, ...nonEmpty("required", requiredOf(members)) };
}

function toProperties(members: readonly Member[], context: Context): Spec {
  return Object.fromEntries(
    members.map((member) => [
      member.name,
      {
        ...toType(member.type, member.name, context),
        description: describe(member.comment),
        ...(context.secrets.includes(member.name) && { secret: true }),
      },
    ]),
  );
}

/** Converts the type of a property. */
function toType(node: ts.TypeNode, property: string, context: Context): Spec {
  const convert = (inner: ts.TypeNode): Spec => toType(inner, property, context);
  if (ts.isTypeReferenceNode(node)) {
    const inner = node.typeArguments?.at(-1);
    if (inner === undefined) return toNamedType(node.typeName.getText(), context);
    const isMap = node.typeName.getText() === "Record";
    return isMap ? { type: "object", additionalProperties: convert(inner) } : convert(inner);
  }
  if (ts.isTypeOperatorNode(node) || ts.isParenthesizedTypeNode(node)) return convert(node.type);
  if (ts.isArrayTypeNode(node)) return { type: "array", items: convert(node.elementType) };
  if (ts.isTypeLiteralNode(node)) return addObject(node, property, context);
  if (ts.isUnionTypeNode(node)) {
    const given = node.types.filter(({ kind }) => kind !== ts.SyntaxKind.UndefinedKeyword).map(convert);
    // "One value or a list" becomes a list, because Python's SDK fails on a list that could also be a string.
    const list = given.find(({ type }) => type === "array");
    return list ?? (given.length > 1 ? { oneOf: given } : { ...given[0] });
  }
  if (node.kind === ts.SyntaxKind.StringKeyword) return { type: "string" };
  if (node.kind !== ts.SyntaxKind.NumberKeyword)
    throw new Error(`${property}: the type ${node.getText()} is not supported`);
  return { type: source.integers.includes(property) ? "integer" : "number" };
}

function toNamedType(name: string, context: Context): Spec {
  const node = declared(name);
  if (!ts.isTypeAliasDeclaration(node)) return addObject(node, name, context);
  if (context.isOutput) return { type: "string" };
  const values = node.type.getText().split("|");
  context.types[name] = {
    type: "string",
    description: describe(commentOf(node)),
    enum: values.map((value) => ({ value: JSON.parse(value) as string })),
  };
  // Accepts the enum or a string, so every language accepts a plain string.
  return { oneOf: [{ type: "string" }, refTo(name)] };
}

function addObject(node: ts.Node, sourceName: string, { types, secrets }: Context): Spec {
  const name = source.types[sourceName];
  if (name === undefined) throw new Error(`${sourceName} has no name under types in pulumi.yaml`);
  // A type literal has no doc comment; the property that has this type has one.
  const commented = ts.isTypeLiteralNode(node) ? ts.findAncestor(node, ts.isPropertySignature) : node;
  types[name] = {
    description: describe(commentOf(commented ?? node)),
    ...toObject(membersOf(node), { types, secrets }),
  };
  return refTo(name);
}

const refTo = (name: string): Spec => ({ $ref: `#/types/${toToken(name)}` });

/**
 * Formats the examples as one code block per language, in Pulumi's markup: each generated SDK contains only the
 * example in its language. If its language has no example, the SDK contains neither an example nor the heading.
 */
function writeExamples(examples: Record<string, string>): string {
  const blocks = Object.entries(examples).map(
    ([language, code]) => `\`\`\`${language}\n${code.trimEnd()}\n\`\`\``,
  );
  const lines = ["{{% examples %}}", "{{% example %}}", "## Example Usage", ...blocks, "{{% /example %}}"];
  return [...lines, "{{% /examples %}}"].join("\n");
}
