import type { Switches } from "../../provider/emulator/switches.ts";

/** A test by its file and its name, as both stand in the sources. */
export type TestReference = readonly [file: string, name: string];

/** What a program uses beside the emulator: the clients, the resource with its preflight, and what takes deliveries. */
export const PARTS = ["client", "resource", "responder"] as const;

/** The test that shows a thing in each part that has to do with it. */
export type Parts = Partial<Record<(typeof PARTS)[number], TestReference>>;

/** One thing of the specification or of the emulator, where it is implemented, and which test shows it. */
export interface CoverageRow {
  /** Of the specification; empty for what the emulator has beside it. */
  section: string;
  what: string;
  /** Fields of the generated JSON Schemas that it stands for, such as `inbound sender.id`. */
  fields?: readonly string[];
  /** Open points that it is read by. */
  switches?: readonly (keyof Switches)[];
  where: readonly string[];
  /** In the emulator. */
  shownBy: TestReference;
  parts?: Parts;
}

export interface FieldRows {
  section: string;
  schemas: readonly string[];
  where: readonly string[];
  parts: Parts;
}

/** Rows of one section for fields of JSON Schemas: by path, the test that shows the field. */
export function fieldRows(
  { section, schemas, where, parts }: FieldRows,
  tests: Readonly<Record<string, TestReference>>,
): CoverageRow[] {
  return Object.entries(tests).map(([path, shownBy]) => ({
    section,
    what: `\`${path}\``,
    fields: schemas.map((schema) => `${schema} ${path}`),
    where,
    shownBy,
    parts,
  }));
}

/** The tests of one file. */
export function testsIn(file: string): (name: string) => TestReference {
  return (name) => [file, name];
}
