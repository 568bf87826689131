import { signal } from "@preact/signals";

export interface Notice {
  id: number;
  kind: "error" | "done";
  text: string;
}

/** Something done is told and goes away; an error stays until it is dismissed. */
const SHOWN_MS = 5000;

/** More of them would cover the page. */
const MOST = 4;

export const notices = signal<readonly Notice[]>([]);

/** Whether a modal dialog is open: it shows the notices then, because all else is out of reach. */
export const dialogOpen = signal(false);

let count = 0;

/** Says that something was done. */
export function tell(text: string): void {
  const { id } = add("done", text);
  setTimeout(() => dismiss(id), SHOWN_MS);
}

/** Shows an error. The same text is not shown twice at once. */
export function tellError(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  if (!notices.value.some((notice) => notice.text === text)) add("error", text);
}

/** Takes a notice away. */
export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

/** Does what a control asks for; whether it was done. Its failure is shown. */
export async function attempt(action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    tellError(error);
    return false;
  }
}

function add(kind: Notice["kind"], text: string): Notice {
  count += 1;
  const notice = { id: count, kind, text };
  notices.value = [...notices.value, notice].slice(-MOST);
  return notice;
}
