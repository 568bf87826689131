import { expect, test } from "vitest";
import { formatTime } from "../../../provider/cli/output.js";

test("a time is shown with its date unless the process started on the same day", () => {
  const now = new Date();
  const later = new Date(now.getTime() + 3 * 86_400_000);
  expect(formatTime(now.toISOString())).toMatch(/^\d\d:\d\d:\d\d$/);
  expect(formatTime(later.toISOString())).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
});
