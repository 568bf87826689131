import { readFileSync } from "node:fs";
import ts from "typescript";

/** A property of an interface, a class or a type literal. */
export interface Member {
  name: string;
  type: ts.TypeNode;
  isOptional: boolean;
  /** The doc comment, with its line breaks. */
  comment: string;
}

/**
 * Returns a function that finds a declaration in TypeScript files by its name, and throws for an unknown
 * name. The files are only parsed, which takes less than a second and needs no build.
 */
export function readDeclarations(files: readonly string[]): (name: string) => ts.DeclarationStatement {
  const statements = files.flatMap((file) => [
    ...ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true).statements,
  ]);
  const declared = statements.filter(
    (one): one is ts.DeclarationStatement => "name" in one && one.name !== undefined,
  );
  const byName = new Map(declared.map((one) => [one.name?.getText(), one]));
  return (name) => {
    const found = byName.get(name);
    if (found === undefined) throw new Error(`the parsed files declare no ${name}`);
    return found;
  };
}

/** Returns the own properties of an interface or class, without inherited ones. */
export const membersOf = (node: ts.Node): Member[] => {
  const isMember =
    ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node) || ts.isTypeLiteralNode(node);
  if (!isMember) throw new Error(`${node.getText()} has no properties`);
  return [...node.members]
    .filter((one) => ts.isPropertySignature(one) || ts.isPropertyDeclaration(one))
    .map((one) => {
      if (one.type === undefined) throw new Error(`${one.getText()} has no type`);
      return {
        name: one.name.getText(),
        type: one.type,
        isOptional: one.questionToken !== undefined,
        comment: commentOf(one),
      };
    });
};

/** Returns the text of a doc comment without its tags, or an empty string. */
export function commentOf(node: ts.Node): string {
  const [doc] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  return ts.getTextOfJSDocComment(doc?.comment) ?? "";
}

/** Returns the code in the `@example` of a doc comment, without the fence; an empty string if there is none. */
export function exampleOf(node: ts.Node): string {
  const tag = ts.getJSDocTags(node).find((one) => one.tagName.text === "example");
  return /```ts\n(.*)```/s.exec(ts.getTextOfJSDocComment(tag?.comment) ?? "")?.[1] ?? "";
}
