import { afterEach, expect, it, vi } from "vitest";
import { ApiError, read, routeOf, send } from "../../../provider/emulator/page/api.ts";

afterEach(() => void vi.unstubAllGlobals());

/** Answers calls with this text. Returns the bodies of the calls. */
function answerWith(status: number, text: string) {
  const bodies: unknown[] = [];
  vi.stubGlobal("fetch", async (_route: string, { body }: RequestInit) => {
    bodies.push(body);
    return new Response(text || null, { status });
  });
  return bodies;
}

it("encodes every segment, and skips what is undefined", () => {
  expect(routeOf(["workspaces", "a/b?c"], { reveal: undefined, limit: "1" })).toBe(
    "./workspaces/a%2Fb%3Fc?limit=1",
  );
});

it("sends an object as JSON, and a text as it is", async () => {
  const bodies = answerWith(204, "");
  expect(await send("POST", ["faults"], { times: 1 })).toBeUndefined();
  await send("POST", ["faults"], '{"conv_id":90071992547409931}');
  expect(bodies).toEqual(['{"times":1}', '{"conv_id":90071992547409931}']);
});

it.each([
  [
    "the emulator's own words",
    404,
    '{"error":{"code":"not_found","message":"there is no delivery"}}',
    "there is no delivery",
  ],
  [
    "the answer of bot_url",
    422,
    '{"status":422,"body":{"message":"no"}}',
    'bot_url answered 422: {"message":"no"}',
  ],
  ...["", "<html>", "null", "7", '"no"', "[]", "{}", '{"error":"no"}', '{"status":"error"}'].map(
    (text) => [`the status, for ${text}`, 502, text, "The emulator answered 502 without a reason."] as const,
  ),
  ["the status of an answer that is not JSON", 200, "<html>", "The emulator answered 200 without a reason."],
] as const)("refuses with %s", async (_, status, text, message) => {
  answerWith(status, text);
  await expect(read(["deliveries"])).rejects.toThrow(new ApiError(message));
});
