import { signal } from "@preact/signals";

export interface Notice {
  id: number;
  kind: "error" | "done";
  text: string;
}

/** A success message goes away; an error stays until it is dismissed. */
const SHOWN_MS = 5000;

/** More of them would cover the page. */
const MOST = 4;

export const notices = signal<readonly Notice[]>([]);

/** Whether a modal dialog is open: it shows the notices then, because everything else is out of reach. */
export const dialogOpen = signal(false);

let count = 0;

/** Shows that something was done. */
export function showDone(text: string): void {
  const id = add("done", text);
  setTimeout(() => dismiss(id), SHOWN_MS);
}

/** Shows an error. The same text is not shown twice at once. */
export function showError(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  if (!notices.value.some((notice) => notice.text === text)) add("error", text);
}

/** Removes a notice. */
export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

/** Runs the action of a control, and shows its failure. Whether it succeeded. */
export async function attempt(action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}

function add(kind: Notice["kind"], text: string): number {
  count += 1;
  notices.value = [...notices.value, { id: count, kind, text }].slice(-MOST);
  return count;
}
