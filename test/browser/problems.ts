import type { Page } from "playwright-core";

/** What a script that came with a text calls, in the attempts of the tests: see hostile-texts.ts. */
export const ALARM = "apichatAlarm";

/**
 * Collects all that goes wrong in a page from its first line on: errors nobody caught, what the console says of errors and
 * warnings, violations of the Content-Security-Policy, dialogs, and calls of the alarm.
 */
export async function watchProblems(page: Page): Promise<string[]> {
  const problems: string[] = [];
  page.on("pageerror", (error) => void problems.push(`uncaught: ${error.message}`));
  page.on("console", (message) => {
    if (!["error", "warning"].includes(message.type())) return;
    // A medium that is not there is said to be so; of the page's own files it is a problem.
    if (message.text().startsWith("Failed to load resource") && isMedium(message.location().url)) return;
    problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.exposeFunction(ALARM, (what: unknown) => void problems.push(`script ran: ${String(what)}`));
  await page.exposeFunction("apichatViolation", (what: string) => void problems.push(`violation: ${what}`));
  await page.addInitScript(REPORT_VIOLATIONS);
  return problems;
}

const REPORT_VIOLATIONS = `
  addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI, sample }) =>
    apichatViolation([effectiveDirective, blockedURI, sample].join(" ")));
`;

const isMedium = (url: string): boolean => !new URL(url).pathname.startsWith("/_emulator/");
