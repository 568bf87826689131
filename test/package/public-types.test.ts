import { join } from "node:path";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { root } from "../support/pages.ts";

const entries = Object.entries(packageJson.exports).flatMap(([path, target]) =>
  typeof target === "string" ? [] : [[path, join(root, target.types)] as const],
);
const program = ts.createProgram(
  entries.map(([, file]) => file),
  { module: ts.ModuleKind.NodeNext, strict: true, types: ["node"] },
);
const checker = program.getTypeChecker();

/** The exports of a file and their members, also inherited ones, except what a dependency declares. */
function namesOf(file: string): Map<string, ts.Symbol[]> {
  const names = new Map<string, ts.Symbol[]>();
  const add = (name: string, symbol: ts.Symbol): boolean => {
    const isOwn = symbol.declarations?.some((one) =>
      one.getSourceFile().fileName.startsWith(join(root, "dist")),
    );
    const known = names.get(name) ?? [];
    if (!isOwn || known.includes(symbol)) return false;
    names.set(name, [...known, symbol]);
    return true;
  };
  const addMember = (name: string, member: ts.Symbol): void => {
    if (member.declarations?.some(isHidden)) return;
    const path = `${name}.${member.name}`;
    if (add(path, member)) for (const declaration of member.declarations ?? []) walk(declaration, path);
  };
  const walk = (node: ts.Node, name: string): void =>
    ts.forEachChild(node, (child) => {
      if (isMember(child)) addMember(name, checker.getSymbolAtLocation(child.name as ts.Node) as ts.Symbol);
      else walk(child, name);
    });
  const module = checker.getSymbolAtLocation(program.getSourceFile(file) as ts.Node) as ts.Symbol;
  for (const exported of checker.getExportsOfModule(module)) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    add(symbol.name, symbol);
    if (file.endsWith("/dynamic.d.ts")) continue; // Only the engine uses the members of its exports.
    for (const declaration of symbol.declarations ?? [])
      if (!isZod(declaration)) walk(declaration, symbol.name);
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    for (const one of type.isUnion() ? type.types : [type]) {
      for (const member of checker.getPropertiesOfType(one)) addMember(symbol.name, member);
    }
  }
  return names;
}

/** Whether this is a zod schema. Its members need no comments, because the type of the same name has them. */
const isZod = (node: ts.Node): boolean => ts.isVariableDeclaration(node) && /\bz\.Zod/.test(node.getText());

const isMember = (node: ts.Node): node is ts.ClassElement | ts.TypeElement =>
  (ts.isClassElement(node) || ts.isTypeElement(node)) && node.name !== undefined;

/** Whether this is a private member, or the value of an enum: neither needs a comment. */
const isHidden = (node: ts.Declaration): boolean => {
  if (!isMember(node) || node.name === undefined) return false;
  const type = ts.isPropertySignature(node) ? node.type : undefined;
  const isValue = type && ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal);
  return ts.isPrivateIdentifier(node.name) || Boolean(isValue && type.literal.text === node.name.getText());
};

describe("each export of the published types, and each member, has a doc comment", () => {
  test.each(entries)("%s", (_path, file) => {
    const names = namesOf(file);
    expect(names.size).toBeGreaterThan(0);
    // If several types of a union have the same member, one comment is enough: an editor joins them all.
    const without = [...names].filter(([, symbols]) =>
      symbols.every((symbol) => symbol.getDocumentationComment(checker).length === 0),
    );
    expect(without.map(([name]) => name)).toEqual([]);
  });
});

test("the published types contain no internals", () => {
  const names = entries.flatMap(([, file]) => [...namesOf(file).keys()]);
  expect(
    names.filter((name) => /fromIncomingMessage|fleetProgram|beforeRepeat|retryRejectedUntil/.test(name)),
  ).toEqual([]);
});
