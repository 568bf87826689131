import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writePrivateFile } from "../lib/files.js";
import { currentBackend } from "./backend.js";
import { configPathOf } from "./config-file.js";
import type { ProcessInputs } from "./inputs.js";

/** Who claims a folder: the inputs of a resource, or its state. */
export type Claim = Pick<ProcessInputs, "instanceKey" | "verificationKeys">;

/** The file that says which stack a folder belongs to. */
export const OWNER_FILE = "owner.txt";

const DIGEST_CHARACTERS = 12;

/** Marks the stack of an instance key (project, stack and name) with a digest, because other backends and organizations may have one of this name. */
export async function markStack(instanceKey: string, organization: unknown): Promise<string> {
  const [project = "", stack = "", name = ""] = instanceKey.split("/");
  const owner = JSON.stringify([await currentBackend(), organization, project, stack]);
  const digest = createHash("sha256").update(owner).digest("hex").slice(0, DIGEST_CHARACTERS);
  return [project, `${stack}-${digest}`, name].join("/");
}

const ownerOf = ({ instanceKey }: Claim): string => instanceKey.split("/").slice(0, 2).join("/");

export const writeOwner = (dataDir: string, claim: Claim): Promise<void> =>
  writePrivateFile(join(dataDir, OWNER_FILE), `${ownerOf(claim)}\n`);

/** The owner that a folder names. */
export const readOwner = (dataDir: string): string | undefined => read(join(dataDir, OWNER_FILE))?.trim();

/**
 * Whether a folder belongs to one of those who claim it: it names them, or, where it names nobody, its configuration has a
 * key of theirs. Versions before the file `owner.txt` left such folders.
 */
export function belongsTo(dataDir: string, claims: readonly Claim[]): boolean {
  const owner = readOwner(dataDir);
  if (owner !== undefined) return claims.some((claim) => ownerOf(claim) === owner);
  const keys = new Set(keysOfConfig(read(configPathOf(dataDir))));
  return claims.some(({ verificationKeys }) =>
    Object.values(verificationKeys)
      .flat()
      .some((key) => keys.has(key)),
  );
}

/** As versions before the file `owner.txt` have written it; none of anything else. */
function keysOfConfig(config = ""): string[] {
  try {
    const { workspaces } = JSON.parse(config) as {
      workspaces: Record<string, { verificationKeys: string[] }>;
    };
    return Object.values(workspaces).flatMap(({ verificationKeys }) => verificationKeys);
  } catch {
    return [];
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
