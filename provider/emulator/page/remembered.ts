const PREFIX = "apichat-emulator:";

/** What was remembered under this name; null if nothing was, or if the browser keeps nothing for this page. */
export function recall(name: string): string | null {
  return withStorage((storage) => storage.getItem(PREFIX + name));
}

/** Remembers a value for the next visit, where the browser lets the page. */
export function remember(name: string, value: string): void {
  withStorage((storage) => storage.setItem(PREFIX + name, value));
}

/** A browser that blocks storage throws at the first touch: the page then forgets, which harms nothing. */
function withStorage<Result>(use: (storage: Storage) => Result): Result | null {
  try {
    return use(localStorage);
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}
