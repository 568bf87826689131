import { describe, expect, test } from "vitest";
import { appendQuery, hideQuery, printTarget, printUrl, secretsOfUrl } from "../../../provider/lib/url.js";

describe("a URL is printed", () => {
  test.each([
    ["https://chat.example/hook", "https://chat.example/hook"],
    ["https://chat.example", "https://chat.example/"],
    ["https://user:pass@chat.example:8443/hook#part", "https://chat.example:8443/hook"],
    ["https://chat.example/?a=1&b=2&a=3", "https://chat.example/?a=***&b=***"],
    ["https://chat.example/?token", "https://chat.example/?token=***"],
    ["https://chat.example/?", "https://chat.example/"],
    ["ftp://user:pass@chat.example/x?a=1", "ftp://chat.example/x?a=***"],
    ["chat.example?token=1", "(not a URL)"],
    ["", "(not a URL)"],
  ])("%s as %s", (url, printed) => expect(printUrl(url)).toBe(printed));

  test("whole if it has no query, and else without its values, in a state", () => {
    expect(hideQuery("https://chat.example/hook/")).toBe("https://chat.example/hook/");
    expect(hideQuery("HTTPS://chat.example/hook?a=1")).toBe("https://chat.example/hook?a=***");
  });

  test("with where a redirect points, relative or not", () => {
    expect(printTarget("/login?next=1", "https://chat.example/hook")).toBe(
      "https://chat.example/login?next=***",
    );
    expect(printTarget("https://user:pass@other.example/", "https://chat.example/")).toBe(
      "https://other.example/",
    );
    expect(printTarget("https://", "https://chat.example/")).toBe("(not a URL)");
  });
});

test("a query is put behind the URL's own, which stays as written", () => {
  expect(appendQuery("https://a.example/x", "c=3")).toBe("https://a.example/x?c=3");
  expect(appendQuery("https://a.example/x?a=%2F+1&b", "c=3")).toBe("https://a.example/x?a=%2F+1&b&c=3");
});

test("the long query values of a URL are taken for secrets", () => {
  expect(secretsOfUrl("https://a.example/?id=7&token=abc%20defgh&name=acme")).toEqual(["abc defgh"]);
  expect(secretsOfUrl("not a URL?token=abcdefgh")).toEqual([]);
});
