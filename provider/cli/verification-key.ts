import { readFile } from "node:fs/promises";
import { checkSecret } from "../resource/checks.js";
import { askSecret } from "./ask-secret.js";
import { UsageError } from "./usage-error.js";

const VARIABLE = "APICHAT_VERIFICATION_KEY";

/**
 * The verification key: from the file if one is named, else from the environment, else asked for on a terminal. Never from
 * the command line, which every user of the machine can read. Throws a UsageError where there is none, or a malformed one.
 */
export async function readVerificationKey(
  keyFile: string | undefined,
  onInterrupt: () => void,
): Promise<string> {
  if (keyFile !== undefined) return requireKey(await readKeyFile(keyFile), `the key in ${keyFile}`);
  const given = process.env[VARIABLE] ?? "";
  if (given !== "") return requireKey(given, VARIABLE);
  if (!process.stdin.isTTY) {
    throw new UsageError(
      `the verification key is missing; set ${VARIABLE}, or name a file that holds it: --key-file <file>`,
    );
  }
  const terminal = { input: process.stdin, output: process.stderr };
  const typed = await askSecret("Verification key (not shown): ", terminal, onInterrupt);
  return requireKey(typed ?? "", "the verification key");
}

async function readKeyFile(path: string): Promise<string> {
  try {
    const text = await readFile(path, "utf8");
    return text.replace(/\r?\n$/, "");
  } catch (error) {
    throw new UsageError(`--key-file: ${(error as Error).message}; name a file that holds the key alone`);
  }
}

function requireKey(key: string, name: string): string {
  const [failure] = checkSecret(name, key, "give the key alone, as the endpoint has it");
  if (failure !== undefined) throw new UsageError(failure.reason);
  return key;
}
