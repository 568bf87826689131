import type { Scope } from "./apply-events.js";

/** What the fragment of the address says is chosen, so that a reload shows the same. */
export function readAddress(fragment: string): Scope {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ""));
  return { workspace: parameters.get("workspace"), conversation: parameters.get("conversation") };
}

/** The fragment for what is chosen. */
export function writeAddress({ workspace, conversation }: Scope): string {
  const parameters = new URLSearchParams();
  if (workspace !== null) parameters.set("workspace", workspace);
  if (conversation !== null) parameters.set("conversation", conversation);
  return `#${parameters}`;
}
