import { signal } from "@preact/signals";

interface Notice {
  kind: "error" | "done";
  text: string;
}

/** A success message goes away; an error stays until it is dismissed. */
const SHOWN_MS = 5000;

export const notices = signal<readonly Notice[]>([]);

export function showDone(text: string): void {
  const notice = show({ kind: "done", text });
  setTimeout(() => dismiss(notice), SHOWN_MS);
}

/** Shows an error. The same text is not shown twice at once. */
export function showError(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  if (!notices.value.some((notice) => notice.text === text)) show({ kind: "error", text });
}

function show(notice: Notice): Notice {
  notices.value = [...notices.value, notice];
  return notice;
}

export function dismiss(notice: Notice): void {
  notices.value = notices.value.filter((other) => other !== notice);
}

/** Runs the action of a control and shows its failure. Returns whether it succeeded. */
export async function attempt(action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}
