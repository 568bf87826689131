import { expect, it } from "vitest";
import { fileNameOf, safeUrl, visibleText } from "../../../provider/emulator/page/untrusted.ts";

it.each([
  ["http://example.test/a.png", "http://example.test/a.png"],
  ["HTTPS://Example.test", "https://example.test/"],
  ["https://example.test/uma foto.png?a=1#b", "https://example.test/uma%20foto.png?a=1#b"],
  ["http://[::1]:8080/x", "http://[::1]:8080/x"],
])("lets %s become a link", (url, href) => {
  expect(safeUrl(url)).toBe(href);
});

it.each([
  "javascript:alert(1)",
  "JavaScript:alert(1)//http://example.test",
  " javascript:alert(1)",
  "java\tscript:alert(1)",
  "java\nscript:alert(1)",
  "\u0001javascript:alert(1)",
  "vbscript:msgbox(1)",
  "data:text/html,<script>alert(1)</script>",
  "data:image/svg+xml;base64,PHN2Zz4=",
  "blob:http://example.test/1",
  "file:///etc/passwd",
  "ftp://example.test/a",
  "//example.test/a.png",
  "/a.png",
  "a.png",
  "http:a.png",
  "http:/a.png",
  "https:\\\\example.test",
  "ht\ttp://example.test",
  "http://exa\nmple.test/",
  "http://example.test/\u0000",
  "http://example.test/\u009f",
  "http://",
  "http:// example.test",
  "http://?a",
  "http://[::1",
  "view-source:http://example.test",
  "",
  null,
  undefined,
  1,
  {},
  ["http://example.test"],
  { toString: () => "http://example.test" },
])("keeps %j a text", (url) => {
  expect(safeUrl(url)).toBeNull();
});

it.each([
  ["https://example.test/a/contrato%20final.pdf?x=1", "contrato final.pdf"],
  ["https://example.test/a/%ff", "%ff"],
  ["https://example.test/a/", "a"],
  ["https://example.test", "example.test"],
])("calls %s %s", (url, name) => {
  expect(fileNameOf(url)).toBe(name);
});

it.each([
  ["photo_\u202Egpj.exe", "photo_⟨U+202E⟩gpj.exe"],
  ["\u2066a\u2069", "⟨U+2066⟩a⟨U+2069⟩"],
  ["a\u0000\u001b[31m\u007f\u009b", "a⟨U+0000⟩⟨U+001B⟩[31m⟨U+007F⟩⟨U+009B⟩"],
  ["a\r\nb", "a⟨U+000D⟩\nb"],
  ["\uFEFFa\u2028", "⟨U+FEFF⟩a⟨U+2028⟩"],
  ...["Olá, tudo bem?\n\tSim", "👩‍👩‍👧", "می‌خواهم", "שלום\u200f!", "<b>&amp;</b>"].map((text) => [text, text]),
])("shows %j as %j", (text, shown) => {
  expect(visibleText(text ?? "")).toBe(shown);
});
