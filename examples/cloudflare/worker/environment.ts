import { deriveVerificationKeys } from "pulumi-apichat/responder";
import type { Letter } from "./letter";

/**
 * The bindings of the Pulumi program, including a secret `WORKSPACE_<name>` per workspace: {@link Workspace} as JSON.
 */
export interface Env {
  DELIVERIES: Queue<Letter>;
  DEAD_LETTERS: Queue<Letter>;
  /** The name of the queue behind `DEAD_LETTERS`. */
  DEAD_LETTER_QUEUE: string;
  /** The secret that the verification keys are derived from. */
  KEY_SEED: string;
  /** A JSON list: the current rotation, then the earlier ones whose keys are accepted. */
  ROTATIONS: string;
}

export interface Workspace {
  forwardTo: string;
}

/** Finds the workspace of this name, if the program has one. */
export function findWorkspace(env: Env, name: string): Workspace | undefined {
  const binding: unknown = Reflect.get(env, `WORKSPACE_${name}`);
  return typeof binding === "string" ? (JSON.parse(binding) as Workspace) : undefined;
}

/** The keys of a workspace, as its `VerificationKey` has them. */
export const keysOf = ({ KEY_SEED, ROTATIONS }: Env, name: string): Promise<string[]> =>
  deriveVerificationKeys(KEY_SEED, { subject: name, rotations: JSON.parse(ROTATIONS) });
