import type { Program, ProgramOptions } from "./program.js";
import { pythonProgram } from "./python.js";
import { typescriptProgram } from "./typescript.js";
import { yamlProgram } from "./yaml.js";

/** What writes a program on the resource plugin. */
export const LANGUAGES = {
  yaml: yamlProgram,
  python: pythonProgram,
  typescript: typescriptProgram,
} satisfies Record<string, (options: ProgramOptions) => Program>;

export type Language = keyof typeof LANGUAGES;
