import type { Letter } from "./letter";

/** What the Pulumi program binds, and for each workspace a secret text `WORKSPACE_<name>`: {@link Workspace} as JSON. */
export interface Env {
  DELIVERIES: Queue<Letter>;
  DEAD_LETTERS: Queue<Letter>;
  /** The name of the queue behind `DEAD_LETTERS`. */
  DEAD_LETTER_QUEUE: string;
}

export interface Workspace {
  /** The current one and earlier ones, while the key is being rotated. */
  verificationKeys: string[];
  forwardTo: string;
}

/** Finds the workspace of this name, if the program has one. */
export function findWorkspace(env: Env, name: string): Workspace | undefined {
  const binding: unknown = Reflect.get(env, `WORKSPACE_${name}`);
  return typeof binding === "string" ? (JSON.parse(binding) as Workspace) : undefined;
}
