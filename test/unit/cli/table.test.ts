import { describe, expect, test } from "vitest";
import { formatTable } from "../../../provider/cli/table.js";

const HEAD = ["NAME", "DETAIL"];
const PLAIN = { width: undefined, isColoured: false };

describe("a table", () => {
  test("has a head, aligned columns, no borders and no blanks at the end of a line", () => {
    expect(
      formatTable(
        HEAD,
        [
          ["acme", "x".repeat(200)],
          ["a-longer-name", ""],
        ],
        PLAIN,
      ),
    ).toBe(`NAME           DETAIL\nacme           ${"x".repeat(200)}\na-longer-name\n`);
  });

  test("wraps long cells to the width of the terminal, and loses nothing of them", () => {
    const text = Array.from({ length: 40 }, (_, index) => `word${index}`).join(" ");
    const lines = formatTable(HEAD, [["acme", text]], { width: 40, isColoured: false })
      .trimEnd()
      .split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
    const shown = lines.slice(1).map((line) => line.slice(6).trim());
    expect(shown.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
  });

  test("is coloured only where it may be", () => {
    expect(formatTable(HEAD, [["a", "b"]], { width: 80, isColoured: true })).toContain("\u001b[1m");
    expect(formatTable(HEAD, [["a", "b"]], { width: 80, isColoured: false })).not.toContain("\u001b");
  });

  test("lets nothing foreign drive the terminal or add a row", () => {
    const shown = formatTable(HEAD, [["a\u001b[2J", "b\nc\r\u009b"]], PLAIN);
    expect(shown.split("\n")).toHaveLength(3);
    expect(shown.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });
});
