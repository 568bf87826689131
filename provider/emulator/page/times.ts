/** A 24-hour clock with seconds, so that a time in the chat can be found in the wire panel. */
const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;

/** The time of day, preceded by the date if that is not today. */
export function timeOf(iso: string): string {
  const date = new Date(iso);
  const isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? {} : ({ day: "numeric", month: "short" } as const);
  return new Intl.DateTimeFormat("en", { ...day, ...CLOCK }).format(date);
}
