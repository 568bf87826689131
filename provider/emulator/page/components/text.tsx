import { visibleText } from "../untrusted.js";

/** A text from the wire: it does not change the writing direction of its surroundings, and hides nothing. */
export function Text({ children }: { children: string }) {
  return <bdi>{visibleText(children)}</bdi>;
}
