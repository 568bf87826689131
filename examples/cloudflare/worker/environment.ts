import { deriveVerificationKeys } from "pulumi-apichat/responder";
import type { Letter } from "./letter";

/**
 * The bindings that the program sets. The secret `WORKSPACE_<name>` of each workspace is a {@link Workspace} as JSON.
 */
export interface Env {
  DELIVERIES: Queue<Letter>;
  DEAD_LETTERS: Queue<Letter>;
  /** The name of the queue behind `DEAD_LETTERS`. */
  DEAD_LETTER_QUEUE: string;
  /** The secret from which the verification keys are derived. */
  KEY_SEED: string;
  /** A JSON list: the current rotation, then the earlier ones whose keys are still accepted. */
  ROTATIONS: string;
}

export interface Workspace {
  forwardTo: string;
}

/** Finds the workspace with this name, if there is one. */
export function findWorkspace(env: Env, name: string): Workspace | undefined {
  const binding: unknown = Reflect.get(env, `WORKSPACE_${name}`);
  return typeof binding === "string" ? (JSON.parse(binding) as Workspace) : undefined;
}

/** Derives the same keys as the workspace's `VerificationKey`. */
export const keysOf = ({ KEY_SEED, ROTATIONS }: Env, name: string): Promise<string[]> =>
  deriveVerificationKeys(KEY_SEED, { subject: name, rotations: JSON.parse(ROTATIONS) });
