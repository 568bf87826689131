import { randomBytes } from "node:crypto";
import { isLoopback } from "../../lib/url.js";

const RANDOM_BYTES = 24;

interface GeneratedKeys {
  apiKey: string;
  flowApiKey: string;
}

/**
 * The keys of a workspace that was named only. On this machine they follow from the name, so that a program set up with them
 * works with the next run too; where others can reach the emulator they cannot be guessed.
 */
export function generateKeys(name: string, host: string): GeneratedKeys {
  if (!isLoopback(host)) return { apiKey: random(), flowApiKey: random() };
  return { apiKey: `${name}-api-key`, flowApiKey: `${name}-flow-api-key` };
}

const random = (): string => randomBytes(RANDOM_BYTES).toString("base64url");
