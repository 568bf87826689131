/**
 * Gives the focus to another control of the same container, before the one that has it is removed: it would go to the
 * start of the page.
 */
export function moveFocus(from: Element, container: string, target: string): void {
  from.closest(container)?.querySelector<HTMLElement>(target)?.focus();
}
