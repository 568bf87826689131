import { readFile } from "node:fs/promises";
import { ApiChatError } from "../errors/index.js";

/** Reads a file of text in UTF-8. Throws `invalid_config`, which says what kind of file is wanted, such as "YAML or JSON". */
export async function readTextFile(path: string, wanted: string): Promise<string> {
  const bytes = await readBytes(path, wanted);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // The error itself says nothing more.
    throw invalidConfig([`${path}: must be text in UTF-8, and is not; save it in that encoding`]);
  }
}

async function readBytes(path: string, wanted: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw invalidConfig([`${path}: cannot be read (${code}); give the path of a ${wanted} file`]);
  }
}

/** The failure of everything that is wrong with what was given, one line each. */
export const invalidConfig = (problems: readonly string[]): ApiChatError =>
  new ApiChatError("invalid_config", problems.join("\n"), { operation: "check" });
