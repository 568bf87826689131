/** How many requests, and how many handshakes, deliveries and messages of a workspace, are kept. The oldest go first. */
export const HISTORY_LIMIT = 10_000;

/** Adds a record to a list that must not grow without end. Cuts seldom, because each cut moves the whole list. */
export function keep<T>(list: T[], record: T): void {
  list.push(record);
  if (list.length >= HISTORY_LIMIT * 1.1) list.splice(0, list.length - HISTORY_LIMIT);
}
