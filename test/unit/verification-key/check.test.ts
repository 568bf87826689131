import { expect, describe, test } from "vitest";
import { VerificationKey } from "../../../provider/dynamic.js";
import { UNKNOWN } from "../../../provider/lib/checks.js";
import { catchLines, checked, LIVE_KEY, OTHER_KEY, type Args } from "./harness.js";

const lines = catchLines();

async function failuresOf(args: Args): Promise<{ property: string; reason: string }[]> {
  return (await VerificationKey.check({}, { name: "acme", ...args })).failures;
}

describe("valid inputs", () => {
  test.each<Args>([
    {},
    { rotation: "2026-12", keep: 0, bytes: 16 },
    { keep: 10, bytes: 64 },
    { rotation: UNKNOWN, keep: UNKNOWN, bytes: UNKNOWN, initial: UNKNOWN },
  ])("%j pass as they are, without a word", async (args) => {
    expect(await checked(args)).toEqual({ name: "acme", ...args });
    expect(lines).toEqual([]);
  });

  test("may be null, as an argument is that resolves to undefined", async () => {
    const empty = { rotation: null, keep: null, bytes: null, initial: null, current: null, keys: null };
    expect(await checked(empty)).toEqual({ name: "acme" });
  });

  test("warn of a key that can be guessed, without showing it", async () => {
    await checked({ initial: "fifteen-charact" });
    expect(lines).toEqual([expect.stringMatching(/^acme: warning: initial has fewer than 16 characters/)]);
    expect(lines.join()).not.toContain("fifteen-charact");
  });
});

describe("the keys that a preview may know", () => {
  test("are those of a create that takes a live key over", async () => {
    const inputs = await checked({ initial: LIVE_KEY, current: LIVE_KEY, keys: [LIVE_KEY] });
    expect(inputs).toEqual({ name: "acme", initial: LIVE_KEY, current: LIVE_KEY, keys: [LIVE_KEY] });
  });

  test("are none if the live key is not known yet", async () => {
    const inputs = await checked({ initial: UNKNOWN, current: UNKNOWN, keys: UNKNOWN });
    expect(inputs).toEqual({ name: "acme", initial: UNKNOWN });
  });

  test("are none of a resource that exists: it may have rotated since", async () => {
    const given = { initial: LIVE_KEY, current: LIVE_KEY, keys: [LIVE_KEY] };
    expect(await checked(given, { name: "acme", initial: OTHER_KEY })).toEqual({
      name: "acme",
      initial: LIVE_KEY,
    });
  });
});

describe("a wrong input is named, with what was given, what is accepted and how to fix it:", () => {
  test.each<[Args, string, RegExp]>([
    [{ rotation: "" }, "rotation", /^rotation: must be a non-empty string, got ""; write/],
    [{ rotation: 202612 }, "rotation", /^rotation: must be a non-empty string, got 202612; write/],
    [{ keep: -1 }, "keep", /^keep: must be a whole number from 0 to 10, got -1; leave it out for 2$/],
    [{ keep: 11 }, "keep", /got 11;/],
    [{ keep: 1.5 }, "keep", /got 1\.5;/],
    [{ keep: "2" }, "keep", /got "2";/],
    [{ bytes: 15 }, "bytes", /^bytes: must be a whole number from 16 to 64, got 15; leave it out for 32$/],
    [{ bytes: 65 }, "bytes", /got 65;/],
    [{ bytes: true }, "bytes", /got a boolean;/],
    [{ initial: "" }, "", /^initial: must be non-empty, got an empty string; make one/],
    [{ initial: 7 }, "", /^initial: must be a string, got a number/],
    [{ initial: " padded-key-0123456 " }, "", /^initial: must be without white space around it, got 20/],
    [{ initial: "with\u0007bell-0123456789" }, "", /^initial: must be without control characters/],
    [{ initial: "ab********yz" }, "", /^initial: must be the key itself, got 12 characters .* mask/],
  ])("%j", async (args, property, reason) => {
    expect(await failuresOf(args)).toEqual([{ property, reason: expect.stringMatching(reason) as string }]);
  });

  test("all at once, and nothing of the key is in them", async () => {
    const failures = await failuresOf({ rotation: "", keep: 99, bytes: 1, initial: `${LIVE_KEY} ` });
    expect(failures.map(({ reason }) => reason.split(":")[0])).toEqual([
      "rotation",
      "keep",
      "bytes",
      "initial",
    ]);
    expect(JSON.stringify(failures)).not.toContain("vk/live");
  });
});
