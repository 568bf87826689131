import { describe, expect, test } from "vitest";
import {
  ApiChatError,
  renderFailure,
  renderProblem,
  type Audience,
  type Failure,
} from "../../../provider/errors/index.js";

const AT = "https://platform.example/acme/apichat";

const FAILURE: Failure = {
  code: "unavailable",
  operation: "get-webhook",
  summary: `get-webhook at ${AT}: HTTP 503`,
  facts: { at: AT },
  hints: [],
  attempts: 1,
};

test("an error is serialized as its data, and its message is what renderFailure returns for that data", () => {
  const cause = new Error("cut off");
  const { code, summary, ...details } = FAILURE;
  const error = new ApiChatError(code, summary, { ...details, httpStatus: undefined, cause });
  expect(JSON.parse(JSON.stringify(error))).toEqual(FAILURE);
  expect(error).toMatchObject({ message: renderFailure(FAILURE), cause, name: "ApiChatError" });
  expect("httpStatus" in error).toBe(false);
});

describe("the text", () => {
  test("escapes control characters and line breaks that come from the service", () => {
    const said = "failed\u001b[31m\u009b2J\nacme: forged\u2028";
    const text = renderFailure({
      ...FAILURE,
      summary: `status "${said}"`,
      subject: said,
      problems: [{ field: said, text: said }],
      details: [said],
      hints: [{ id: "run_again" }],
    });
    expect(text.split("\n")).toHaveLength(2);
    expect(text.replace("\n", "")).not.toMatch(/[\p{Cc}\p{Zl}]/u);
    expect(text).toContain("failed\\u001b[31m\\u009b2J\\u000aacme: forged\\u2028");
  });

  test("contains the subject, the summary and the problems, then a sentence for each hint, then the details", () => {
    const text = renderFailure({
      ...FAILURE,
      subject: "acme",
      summary: "client",
      problems: [
        { field: "baseUrl", text: "is missing" },
        { field: "", text: "is a list" },
      ],
      hints: [{ id: "check_api_key" }, { id: "run_again" }],
      details: ["address: none", "attempts: 2"],
    });
    expect(text.split("\n")).toEqual([
      "acme: client: baseUrl: is missing; is a list. Is the API key right? Run pulumi up again",
      "  address: none",
      "  attempts: 2",
    ]);
  });

  test.each<[Audience, string]>([
    ["program", "Set apiKey or APICHAT_API_KEY"],
    ["command_line", "Pass it with --api-key-file, or set APICHAT_API_KEY"],
    ["list", "Set apiKey or apiKeyEnv in the list, pass --api-key-file"],
    ["fleet", "Set APICHAT_API_KEY, or apiKey or apiKeyEnv in the list"],
  ])("says how this audience sets the API key: %s", (audience, words) => {
    expect(renderFailure({ ...FAILURE, hints: [{ id: "give_api_key" }] }, audience)).toContain(words);
  });

  test("names a field as the audience writes it", () => {
    const problem = { field: "webhookUrl", text: "is missing" };
    expect(renderProblem(problem)).toBe("webhookUrl: is missing");
    expect(renderProblem(problem, "list")).toBe("--webhook-url: is missing");
    expect(renderProblem({ field: "waveSize", text: "is 0" }, "fleet")).toBe("--wave-size: is 0");
  });
});
