import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface PopoverProps {
  /** The title of the popover, and the label of the button that opens it. */
  title: string;
  /** Shown on the button after its label. */
  badge?: ComponentChildren;
  children: ComponentChildren;
  "data-testid": string;
}

/** A button, and the popover that it opens. Esc, or a click elsewhere, closes the popover. */
export function Popover({ title, badge, children, ...button }: PopoverProps) {
  const id = useId();
  return (
    <>
      <button {...button} type="button" class="outline small" popovertarget={id}>
        {title} {badge}
      </button>
      <section id={id} popover="auto" class="card" role="dialog" aria-label={title}>
        <h2>{title}</h2>
        {children}
      </section>
    </>
  );
}

export function closePopover(): void {
  document.querySelector<HTMLElement>(":popover-open")?.hidePopover();
}
