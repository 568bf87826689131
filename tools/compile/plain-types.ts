/**
 * Writes declarations that do not refer to zod's: those compile only with esModuleInterop or skipLibCheck,
 * and many Pulumi programs have neither. Types that zod infers are written out, with the comments on the keys of the
 * schemas, which the compiler drops, and zod schemas are omitted. Only `pulumi-apichat/schema` exports zod schemas,
 * so `dist/schema` has them, and a version without them in `types/` for the rest of the package.
 */
import { dirname, join, relative, sep } from "node:path";
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

/** Returns the text of a declaration file without types that zod infers, and without schemas unless it keeps them. */
function toPlain(
  text: string,
  source: ts.SourceFile,
  checker: ts.TypeChecker,
  keepsSchemas: boolean,
): string {
  const written = new InferredTypes(checker, source);
  const statements = parse(text).statements.flatMap((statement) => {
    const code = statement.getFullText().trim();
    if (isNamedType(statement) && IS_INFERRED.test(code))
      return [commentOf(statement) + written.declare(statement.name.text)];
    const usesZod = IMPORTS_ZOD.test(code) || USES_ZOD.test(statement.getText());
    return keepsSchemas || !usesZod ? [code] : [];
  });
  const all = parse([...written.imports(), ...statements].join("\n"));
  return ts.createPrinter().printFile(withoutUnusedImports(all));
}

const parse = (text: string): ts.SourceFile =>
  ts.createSourceFile("plain.d.ts", text, ts.ScriptTarget.Latest, true);

type NamedType = ts.InterfaceDeclaration | ts.TypeAliasDeclaration;

const isNamedType = (node: ts.Node): node is NamedType =>
  ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);

/** Writes out the types of a source file that zod infers. */
class InferredTypes {
  readonly #checker: ts.TypeChecker;
  readonly #source: ts.SourceFile;
  readonly #declared: ReadonlyMap<string, NamedType>;
  /** The types of other files, by name. */
  readonly #foreign = new Map<string, string>();

  constructor(checker: ts.TypeChecker, source: ts.SourceFile) {
    this.#checker = checker;
    this.#source = source;
    this.#declared = new Map(source.statements.filter(isNamedType).map((one) => [one.name.text, one]));
  }

  declare(name: string): string {
    const declaration = this.#declared.get(name);
    if (declaration === undefined) throw new Error(`${this.#source.fileName} declares no type ${name}`);
    const start = declaration.modifiers?.length ? "export " : "";
    const type = this.#checker.getTypeAtLocation(declaration.name);
    return ts.isInterfaceDeclaration(declaration)
      ? `${start}interface ${name} ${this.#members(type)}`
      : `${start}type ${name} = ${this.#write(type)};`;
  }

  /** The imports that the written types need so far. */
  imports(): string[] {
    return [...this.#foreign].map(([name, from]) => `import type { ${name} } from "${from}";`);
  }

  #members(type: ts.Type): string {
    const members = this.#checker.getPropertiesOfType(type).map((property) => {
      const mark = (property.flags & ts.SymbolFlags.Optional) === 0 ? "" : "?";
      const comment = property.declarations?.map(commentOf).find((text) => text !== "") ?? pointOf(property);
      return `${comment}${property.name}${mark}: ${this.#refer(this.#checker.getTypeOfSymbol(property))};`;
    });
    return `{\n${members.join("\n")}\n}`;
  }

  /** Returns the name of a type if it has one, else its definition. */
  #refer(type: ts.Type): string {
    const { Class, Interface } = ts.SymbolFlags;
    const own = (type.symbol?.flags ?? 0) & (Class | Interface) ? type.symbol : undefined;
    const alias = type.aliasSymbol?.declarations?.some(isOfPackage) ? type.aliasSymbol : undefined;
    const symbol = alias ?? own;
    const file = symbol?.declarations?.find(isOfPackage)?.getSourceFile();
    // `Array` is not a name of this package, but the element type may be one.
    if (symbol === undefined || this.#checker.isArrayType(type)) return this.#write(type);
    if (file === undefined) return this.#print(type);
    if (file.fileName !== this.#source.fileName) {
      const path = relative(dirname(this.#source.fileName), file.fileName).replace(/\.ts$/, ".js");
      this.#foreign.set(symbol.name, path.startsWith(".") ? path : `./${path}`);
    }
    return symbol.name;
  }

  #write(type: ts.Type): string {
    if (type.isUnion() && (type.flags & ts.TypeFlags.Boolean) === 0) return this.#union(type);
    if (this.#checker.isTupleType(type)) return `[${this.#arguments(type).join(", ")}]`;
    if (this.#checker.isArrayType(type)) return `(${this.#arguments(type).join(", ")})[]`;
    const isPlainObject =
      (type.flags & ts.TypeFlags.Object) !== 0 &&
      type.getCallSignatures().length === 0 &&
      this.#checker.getIndexInfosOfType(type).length === 0;
    return isPlainObject ? this.#members(type) : this.#print(type);
  }

  #print(type: ts.Type): string {
    return this.#checker.typeToString(type, this.#source, ts.TypeFormatFlags.NoTruncation);
  }

  #arguments(type: ts.Type): string[] {
    return this.#checker.getTypeArguments(type as ts.TypeReference).map((one) => this.#refer(one));
  }

  #union({ types }: ts.UnionType): string {
    const hasBoth = types.filter(isHalfOfBoolean).length === 2;
    const names = types.map((one) => (hasBoth && isHalfOfBoolean(one) ? "boolean" : this.#refer(one)));
    return [...new Set(names)].join(" | ");
  }
}

const isHalfOfBoolean = ({ flags }: ts.Type): boolean => (flags & ts.TypeFlags.BooleanLiteral) !== 0;

const isOfPackage = (node: ts.Node): boolean => !node.getSourceFile().fileName.includes("/node_modules/");

/** The doc comment, with a line break. */
function commentOf(node: ts.Node): string {
  const doc = ts.getJSDocCommentsAndTags(node).find(ts.isJSDoc);
  return doc === undefined ? "" : `${doc.getText().replaceAll(/\n\s+/g, "\n ")}\n`;
}

/** The doc comment of an option that the emulator's table of open points describes. */
function pointOf({ name, declarations }: ts.Symbol): string {
  const isPoint = declarations?.some((one) => one.getSourceFile().fileName.endsWith("/open-points.ts"));
  const [, point] = listOpenPoints().find(([path]) => path.split(".").at(-1) === name) ?? [];
  if (!isPoint || point === undefined) return "";
  const [title = "", ...readings] = describeOpenPoint(point, (value) => `\`${value}\``).split("\n");
  const lines = [title.charAt(0).toUpperCase() + title.slice(1), ...readings].map((line) => ` * ${line}\n`);
  return `/**\n${lines.join("")} */\n`;
}

/** Removes unused and repeated imports. */
function withoutUnusedImports(file: ts.SourceFile): ts.SourceFile {
  const code = file.statements.filter((one) => !ts.isImportDeclaration(one)).map((one) => one.getText());
  const words = new Set(code.join("\n").match(/\w+/g));
  const statements = file.statements.flatMap((statement) => {
    const names = ts.isImportDeclaration(statement) ? statement.importClause?.namedBindings : undefined;
    if (names === undefined || !ts.isNamedImports(names)) return [statement.getFullText()];
    const used = names.elements.filter(({ name }) => words.delete(name.text)).map((one) => one.getText());
    return used.length === 0 ? [] : [statement.getText().replace(names.getText(), `{ ${used.join(", ")} }`)];
  });
  return parse(statements.join("\n"));
}
