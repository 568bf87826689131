import { signal } from "@preact/signals";

/** The errors to show until they are dismissed, without duplicates. */
export const errors = signal<readonly string[]>([]);

export function showError(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  if (!errors.value.includes(text)) errors.value = [...errors.value, text];
}

export function dismiss(text: string): void {
  errors.value = errors.value.filter((other) => other !== text);
}

/** Runs the action of a button or other control. If it fails, shows its error. Returns whether it succeeded. */
export async function attempt(action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}
