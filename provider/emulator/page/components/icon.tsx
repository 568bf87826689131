/** Outlines in a square of 24. */
const PATHS = {
  bolt: "M13 3 5 14h6l-1 7 8-11h-6z",
  crack: "M12 3v5l-3 3 5 3-3 3 1 4M4 4h16v16H4z",
  plus: "M12 5v14M5 12h14",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  down: "M5 9l7 7 7-7",
  close: "M6 6l12 12M18 6 6 18",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  again: "M20 5v6h-6M19 11a7.5 7.5 0 1 0 1 5",
  pen: "M4 20l1-4L16 5l3 3L8 19z",
  save: "M12 4v11M7 10l5 5 5-5M5 20h14",
  file: "M6 3h8l4 4v14H6zM14 3v5h4",
  send: "M4 12 20 4l-5 16-4-6z",
} as const;

export type IconName = keyof typeof PATHS;

/** A drawing that says nothing to a screen reader: the text beside it, or the control's label, does. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
