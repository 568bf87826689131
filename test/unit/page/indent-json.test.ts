import { expect, it } from "vitest";
import { indentJson, isIndentable } from "../../../provider/emulator/page/indent-json.ts";

it.each([
  {},
  [],
  { a: 1 },
  { a: {}, b: [], c: [{}], d: [[]] },
  { text: 'a "b" \\ {c}, [d]: e', list: [1, -2.5, true, null, "x"], nested: { deep: [{ a: 1 }, { b: 2 }] } },
])("writes %j as JSON.stringify would with an indent of two", (value) => {
  expect(indentJson(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
  expect(indentJson(JSON.stringify(value, null, 7))).toBe(JSON.stringify(value, null, 2));
});

it("leaves escapes, digits and repeated keys as they were written", () => {
  expect(indentJson(String.raw`{"conv_id":90071992547409931,"url":"http:\/\/a\u00e9","a":1.0,"a":1e3}`)).toBe(
    String.raw`{
  "conv_id": 90071992547409931,
  "url": "http:\/\/a\u00e9",
  "a": 1.0,
  "a": 1e3
}`,
  );
});

it("indents deep nesting no deeper than can be read: a body of brackets stays of its length", () => {
  const depth = 30_000;
  const text = indentJson("[".repeat(depth) + "]".repeat(depth));
  expect(text.length).toBeLessThan(depth * 2 * 50);
  expect(text.replaceAll(/\s/g, "")).toBe("[".repeat(depth) + "]".repeat(depth));
});

it.each(["", "text", '"a"', "7", '{"a":', "[1,]", "<html>", "hub_mode=subscribe"])(
  "leaves %j alone",
  (text) => {
    expect(isIndentable(text)).toBe(false);
  },
);

it.each(["{}", ' [1, {"a": 2}]\n'])("can put %j on lines", (text) => {
  expect(isIndentable(text)).toBe(true);
});
