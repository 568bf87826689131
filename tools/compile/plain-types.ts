/**
 * Writes declarations that do not refer to zod's, because zod's compile only with esModuleInterop or skipLibCheck,
 * and many Pulumi programs set neither. Types that zod infers are written out, with the comments on the schemas'
 * keys: the compiler would drop these. Only `pulumi-apichat/schema` exports zod schemas, from `dist/schema`.
 * The rest of the package uses `dist/schema/types`, which has the same declarations without zod schemas.
 */
import { join, sep } from "node:path";
import ts from "typescript";
import { describeOpenPoint, listOpenPoints } from "../../provider/emulator/open-points.ts";

const USES_ZOD = /\bz\./;
const IS_INFERRED = /\bz\.(?:infer|input|output)</;
const IMPORTS_ZOD = /^import (?:type )?\* as z from "zod";$/m;

/** Writes the compiler's output, with plain types in the declarations. */
export function writePlainTypes(checker: ts.TypeChecker, outFolder: string): ts.WriteFileCallback {
  const schema = join(outFolder, "schema") + sep;
  return (path, text, _mark, _onError, sources) => {
    const source = sources?.[0];
    if (!path.endsWith(".d.ts") || source === undefined) return ts.sys.writeFile(path, text);
    const write = (keepsSchemas: boolean): string =>
      IMPORTS_ZOD.test(text) ? toPlain(text, source, checker, keepsSchemas) : text;
    if (path.startsWith(schema)) {
      ts.sys.writeFile(path, write(true));
      ts.sys.writeFile(join(schema, "types", path.slice(schema.length)), write(false));
    } else {
      ts.sys.writeFile(path, write(false).replaceAll(/"((?:\.\.\/)+schema\/)([\w-]+\.js)"/g, '"$1types/$2"'));
    }
  };
}

/** Writes out the types that zod infers in a declaration file, and drops zod's schemas unless `keepsSchemas`. */
function toPlain(
  text: string,
  source: ts.SourceFile,
  checker: ts.TypeChecker,
  keepsSchemas: boolean,
): string {
  const declared = new Map(source.statements.filter(isNamedType).map((one) => [one.name.text, one]));
  const statements = parse(text).statements.flatMap((statement) => {
    const code = statement.getFullText().trim();
    const inferred = isNamedType(statement) && IS_INFERRED.test(code) && declared.get(statement.name.text);
    if (inferred) return [commentOf(statement) + writeOut(inferred, checker)];
    const usesZod = IMPORTS_ZOD.test(code) || USES_ZOD.test(statement.getText());
    return keepsSchemas || !usesZod ? [code] : [];
  });
  return ts.createPrinter().printFile(parse(statements.join("\n")));
}

const parse = (text: string): ts.SourceFile =>
  ts.createSourceFile("plain.d.ts", text, ts.ScriptTarget.Latest, true);

type NamedType = ts.InterfaceDeclaration | ts.TypeAliasDeclaration;

const isNamedType = (node: ts.Node): node is NamedType =>
  ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);

/** Writes out the declaration of a type that zod infers. */
function writeOut(declaration: NamedType, checker: ts.TypeChecker): string {
  const members = (type: ts.Type): string => {
    const lines = checker.getPropertiesOfType(type).map((property) => {
      const mark = (property.flags & ts.SymbolFlags.Optional) === 0 ? "" : "?";
      const comment = property.declarations?.map(commentOf).find((text) => text !== "") ?? pointOf(property);
      return `${comment}${property.name}${mark}: ${write(checker.getTypeOfSymbol(property))};`;
    });
    return `{\n${lines.join("\n")}\n}`;
  };
  const elementOf = (type: ts.Type): ts.Type | undefined =>
    checker.isArrayType(type) ? checker.getTypeArguments(type as ts.TypeReference)[0] : undefined;
  const isWritten = (type: ts.Type): boolean => isShape(elementOf(type) ?? type);
  /** Writes out anonymous objects with their members' comments, and leaves other types to the compiler. */
  const write = (type: ts.Type): string => {
    if (type.isUnion() && type.types.some(isWritten)) return type.types.map(write).join(" | ");
    const element = elementOf(type);
    if (isWritten(type)) return element ? `${members(element)}[]` : members(type);
    const { NoTruncation, InTypeAlias } = ts.TypeFormatFlags;
    return checker.typeToString(type, declaration, NoTruncation | InTypeAlias);
  };
  const start = declaration.modifiers?.length ? "export " : "";
  const name = declaration.name.text;
  const type = checker.getTypeAtLocation(declaration.name);
  return ts.isInterfaceDeclaration(declaration)
    ? `${start}interface ${name} ${members(type)}`
    : `${start}type ${name} = ${write(type)};`;
}

/** Whether a type is an anonymous object without call signatures and without a string index. */
function isShape(type: ts.Type): boolean {
  const { Anonymous, Mapped } = ts.ObjectFlags;
  const flags = (type.flags & ts.TypeFlags.Object) === 0 ? 0 : (type as ts.ObjectType).objectFlags;
  const hasOnlyMembers = type.getCallSignatures().length === 0 && !type.getStringIndexType();
  return (flags & (Anonymous | Mapped)) !== 0 && hasOnlyMembers;
}

/** Returns the doc comment with a line break after it, or an empty string. */
function commentOf(node: ts.Node): string {
  const doc = ts.getJSDocCommentsAndTags(node).find(ts.isJSDoc);
  return doc === undefined ? "" : `${doc.getText().replaceAll(/\n\s+/g, "\n ")}\n`;
}

/** Returns an option's doc comment, made from the emulator's table of open points; empty for other properties. */
function pointOf({ name, declarations }: ts.Symbol): string {
  const isPoint = declarations?.some((one) => one.getSourceFile().fileName.endsWith("/open-points.ts"));
  const [, point] = listOpenPoints().find(([path]) => path.split(".").at(-1) === name) ?? [];
  if (!isPoint || point === undefined) return "";
  const [title = "", ...readings] = describeOpenPoint(point, (value) => `\`${value}\``).split("\n");
  const lines = [title.charAt(0).toUpperCase() + title.slice(1), ...readings].map((line) => ` * ${line}\n`);
  return `/**\n${lines.join("")} */\n`;
}
