import { expect, test } from "vitest";
import {
  isReady,
  rowOfAnswer,
  rowOfFailure,
  markSameBots,
  type AskedWorkspace,
} from "../../../provider/cli/webhook/plan.js";
import { ApiChatError, type ApiChatErrorCode } from "../../../provider/errors/index.js";

const ACME = {
  name: "acme",
  baseUrl: "https://platform.example/acme?tenant=secret-0123",
  webhookUrl: "https://chat.example/hook",
  botUrl: undefined,
  apiKey: "api-key-0123456789",
};
const SEEN = {
  webhookUrl: "https://CHAT.example/hook/",
  webhookVerificationKey: "key-0123456789",
  status: "verified",
  botUrl: "https://bots.example/api/apichat/f1",
};

const OTHER_BOT = "https://bots.example/api/apichat/f2";
const FOREIGN = { ...SEEN, webhookUrl: "https://else.example/x?token=secret-0123" };

test.each([
  ["free", "", {}, undefined],
  // Whatever the spelling of the URL and of the bot URL.
  ["yours", "verified", { botUrl: `${SEEN.botUrl}/` }, SEEN],
  ["foreign", "https://else.example/x?token=***", {}, FOREIGN],
  ["other-bot", "bot f1, not f2: https://chat.example/hook/", { botUrl: OTHER_BOT }, SEEN],
])("a workspace that answers is %s: %s", (state, detail, entry, seen) => {
  expect(rowOfAnswer({ ...ACME, ...entry }, seen)).toMatchObject({ state, detail });
});

test.each<[ApiChatErrorCode, number | undefined, string]>([
  ["unauthorized", 401, "unauthorized"],
  ["unavailable", undefined, "unreachable"],
  ["timeout", undefined, "unreachable"],
  ["rejected", 404, "unclear"],
  ["rejected", 422, "unclear"],
  ["protocol", 200, "unclear"],
])("a workspace that fails with %s, HTTP %s, is %s", (code, httpStatus, state) => {
  const error = new ApiChatError(code, "why", { operation: "get-webhook", httpStatus });
  expect(rowOfFailure(ACME, error)).toMatchObject({ state });
});

test("a mistake of this program is no state", () => {
  expect(() => rowOfFailure(ACME, new TypeError("x"))).toThrow(TypeError);
});

test("two entries of one workspace are marked, unless something else is wrong with them already", () => {
  const asked: AskedWorkspace[] = [
    rowOfAnswer(ACME, SEEN),
    rowOfAnswer({ ...ACME, name: "again", baseUrl: "https://platform.example/other" }, SEEN),
    rowOfAnswer({ ...ACME, name: "foreign", webhookUrl: "https://else.example/" }, SEEN),
    rowOfAnswer({ ...ACME, name: "free" }, undefined),
  ];
  const rows = markSameBots(asked);
  expect(rows.map(({ state }) => state)).toEqual(["same-bot", "same-bot", "foreign", "free"]);
  expect(rows.map(isReady)).toEqual([false, false, false, true]);
  expect(JSON.stringify(rows)).not.toMatch(/api-key-0123456789|secret-0123/);
});
