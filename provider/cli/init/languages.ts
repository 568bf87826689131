import { goProgram } from "./go.js";
import { javaProgram } from "./java.js";
import type { Program, ProgramOptions } from "./program.js";
import { pythonProgram } from "./python.js";
import { typescriptProgram } from "./typescript.js";
import { yamlProgram } from "./yaml.js";

/** What writes a program on the resource plugin. */
export const LANGUAGES = {
  yaml: yamlProgram,
  python: pythonProgram,
  go: goProgram,
  typescript: typescriptProgram,
  java: javaProgram,
} satisfies Record<string, (options: ProgramOptions) => Program>;

export type Language = keyof typeof LANGUAGES;
