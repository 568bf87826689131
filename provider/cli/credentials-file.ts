import { stat } from "node:fs/promises";
import * as z from "zod";
import { readYamlFile } from "../lib/yaml-file.js";
import { warn } from "./output.js";

const shape = z.strictObject({
  baseUrl: z.string().optional(),
  apiKey: z.string().optional(),
  botUrl: z.string().optional(),
  flowApiKey: z.string().optional(),
  verificationKey: z.string().optional(),
});

/** What a file of credentials may hold. */
export interface CredentialsFile extends z.infer<typeof shape> {}

/** The bits of a file's mode that let others than its owner read or write it. */
const OTHERS = 0o066;

/** Reads a file of credentials (YAML or JSON), and warns if others can read it. Throws `invalid_config`. */
export async function readCredentialsFile(path: string): Promise<CredentialsFile> {
  const credentials = await readYamlFile(path, shape);
  const { mode } = await stat(path);
  // Windows keeps no such bits.
  if (process.platform !== "win32" && (mode & OTHERS) !== 0) {
    const octal = (mode & 0o777).toString(8).padStart(4, "0");
    warn(`${path} holds credentials and is open to others (mode ${octal}); run: chmod 600 ${path}`);
  }
  return credentials;
}
