import { afterEach, beforeEach, vi } from "vitest";

/** Records the lines that a test's calls print. */
export function catchLines(): string[] {
  const lines: string[] = [];
  beforeEach(() => {
    lines.length = 0;
    vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  });
  afterEach(() => vi.restoreAllMocks());
  return lines;
}
