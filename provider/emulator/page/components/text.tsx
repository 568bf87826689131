import { visibleText } from "../visible-text.js";

/** A text from the wire: it does not turn the writing direction of what is around it, and hides nothing. */
export function Text({ children }: { children: string }) {
  return <bdi>{visibleText(children)}</bdi>;
}
