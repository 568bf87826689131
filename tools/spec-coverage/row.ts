import type { Switches } from "../../provider/emulator/switches.ts";

/** A test by its file and its name, as both stand in the sources. */
export type TestReference = readonly [file: string, name: string];

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
  shownBy: TestReference;
}

/** Rows of one section for fields of JSON Schemas: by path, the test that shows the field. */
export function fieldRows(
  section: string,
  schemas: readonly string[],
  where: readonly string[],
  tests: Readonly<Record<string, TestReference>>,
): CoverageRow[] {
  return Object.entries(tests).map(([path, shownBy]) => ({
    section,
    what: `\`${path}\``,
    fields: schemas.map((schema) => `${schema} ${path}`),
    where,
    shownBy,
  }));
}

/** The tests of one file. */
export function testsIn(file: string): (name: string) => TestReference {
  return (name) => [file, name];
}
