/** Every time of the page has 24 hours: those of the chat are looked up on the wire. */
const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;

/** A time of day to the minute. */
export const clockOf = (iso: string): string => formatTime(iso, CLOCK);

/** A time of day to the millisecond. */
export const timeOf = (iso: string): string =>
  formatTime(iso, { ...CLOCK, second: "2-digit", fractionalSecondDigits: 3 });

/** With the date, unless that is today. */
function formatTime(iso: string, format: Intl.DateTimeFormatOptions): string {
  const date = new Date(iso);
  const isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? {} : ({ day: "numeric", month: "short" } as const);
  return new Intl.DateTimeFormat("en", { ...day, ...format }).format(date);
}
