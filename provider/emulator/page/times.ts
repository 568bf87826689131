/** Every time on the page is in 24 hours, so a time in the chat can be found on the wire. */
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
