import { describe, expect, test } from "vitest";
import { inFlagWords, OF_DOCTOR, OF_LIST } from "../../../provider/cli/flag-words.js";

const SLOW = "no answer within 30 s; raise timeouts.requestSeconds if the service is slow";

describe("the words of the command line", () => {
  test("name flags for what a program sets", () => {
    expect(inFlagWords(SLOW)).toBe("no answer within 30 s; raise --request-seconds if the service is slow");
    expect(inFlagWords("HTTP 404. Is this the address? Check baseUrl")).toBe(
      "HTTP 404. Is this the address? Check --base-url",
    );
    expect(inFlagWords("warning: baseUrl is http, so keys travel in clear")).toBe(
      "warning: --base-url is http, so keys travel in clear",
    );
  });

  test("name the list where that gives it, and nothing where nothing can be set", () => {
    expect(inFlagWords("refused. Check baseUrl", OF_LIST)).toBe("refused. Check its baseUrl in the list");
    expect(inFlagWords(SLOW, OF_DOCTOR)).toBe("no answer within 30 s");
  });

  test("leave alone what a service has answered", () => {
    const quoted = 'HTTP 422: {"message":"baseUrl: Check baseUrl"}';
    expect(inFlagWords(quoted)).toBe(quoted);
  });
});
