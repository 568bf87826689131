import { describe, expect, test } from "vitest";
import { VerificationKey } from "../../../provider/dynamic.js";
import { UNKNOWN } from "../../../provider/lib/checks.js";
import { catchLines, checked, create, diff, LIVE_KEY, OTHER_KEY, up, type Args } from "./harness.js";

const lines = catchLines();

describe("create", () => {
  test("makes a key of 32 random bytes, another one each time", async () => {
    const [one, other] = [await create(), await create()];
    expect(one.current).toMatch(/^[\w-]{43}$/);
    expect(one).toEqual({
      name: "acme",
      keep: 2,
      bytes: 32,
      current: one.current,
      keys: [one.current],
      stateVersion: 1,
    });
    expect(other.current).not.toBe(one.current);
  });

  test.each([16, 33, 64])("makes one of %i bytes if the program says so", async (bytes) => {
    const { current } = await create({ bytes });
    expect(Buffer.from(current, "base64url")).toHaveLength(bytes);
    expect(current).not.toMatch(/[=+/]/);
  });

  test("takes a live key over", async () => {
    expect(await create({ initial: LIVE_KEY, rotation: "1" })).toMatchObject({
      initial: LIVE_KEY,
      rotation: "1",
      current: LIVE_KEY,
      keys: [LIVE_KEY],
    });
  });

  test("gives an id that holds nothing of the key, and that no other resource has", async () => {
    const inputs = await checked({ initial: LIVE_KEY });
    const [{ id }, other] = await Promise.all([
      VerificationKey.create(inputs),
      VerificationKey.create(inputs),
    ]);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(other.id).not.toBe(id);
  });
});

describe("a new key is made, and the earlier ones follow it,", () => {
  test.each<[string, Args, Args]>([
    ["when rotation is set for the first time", {}, { rotation: "1" }],
    ["when rotation gets another value", { rotation: "1" }, { rotation: "2" }],
    ["when bytes changes", { bytes: 32 }, { bytes: 48 }],
    ["when bytes is taken out, and was not the default", { bytes: 48 }, {}],
    ["when rotation and bytes change together", { rotation: "1" }, { rotation: "2", bytes: 16 }],
  ])("%s", async (_, before, after) => {
    const state = await create(before);
    const next = await up(state, after);
    expect(next.current).not.toBe(state.current);
    expect(next.keys).toEqual([next.current, state.current]);
    expect(Buffer.from(next.current, "base64url")).toHaveLength(Number(after["bytes"] ?? 32));
    expect(await diff(next, after)).toMatchObject({ changes: false, replaces: [] });
  });
});

describe("nothing changes", () => {
  test.each<[string, Args, Args]>([
    ["when nothing did", { rotation: "1", keep: 1 }, { rotation: "1", keep: 1 }],
    ["when rotation is taken out", { rotation: "1" }, {}],
    ["when bytes gets the default", {}, { bytes: 32 }],
    ["when keep changes and drops none", { keep: 2 }, { keep: 0 }],
    ["when initial is taken out", { initial: LIVE_KEY }, {}],
    ["when initial is set to a key that is held", { initial: LIVE_KEY }, { initial: LIVE_KEY }],
  ])("%s", async (_, before, after) => {
    const state = await create(before);
    expect(await diff(state, after)).toEqual({ changes: false, replaces: [], deleteBeforeReplace: false });
    expect(lines).toEqual([]);
  });

  test("when rotation is taken out and put back", async () => {
    const state = await create({ rotation: "1", keep: 1 });
    const without = await up(state, { bytes: 16 });
    expect(without).toMatchObject({ rotation: "1" });
    expect(await diff(without, { bytes: 16, rotation: "1" })).toMatchObject({ changes: false });
  });

  test("when the program still names an initial key that has been dropped since", async () => {
    let state = await create({ initial: LIVE_KEY, keep: 0 });
    state = await up(state, { initial: LIVE_KEY, keep: 0, rotation: "1" });
    expect(state.keys).toEqual([state.current]);
    expect(state.current).not.toBe(LIVE_KEY);
    expect(await diff(state, { initial: LIVE_KEY, keep: 0, rotation: "1" })).toMatchObject({
      changes: false,
    });
  });

  test("when initial becomes an earlier key, also after that one has been dropped", async () => {
    const first = await create({ initial: LIVE_KEY });
    const second = await up(first, { initial: OTHER_KEY });
    const named = await up(second, { initial: LIVE_KEY });
    expect(named).toBe(second);
    const rotated = await up(named, { initial: LIVE_KEY, rotation: "1", keep: 0 });
    expect(rotated.keys).toHaveLength(1);
    expect(await diff(rotated, { initial: LIVE_KEY, rotation: "1", keep: 0 })).toMatchObject({
      changes: false,
    });
  });
});

describe("keep", () => {
  test("is how many earlier keys stay, the youngest", async () => {
    const states = [await create({ keep: 3 })];
    for (const rotation of ["1", "2", "3", "4", "5"]) {
      states.unshift(await up(states[0] ?? (await create()), { keep: 3, rotation }));
    }
    expect(states[0]?.keys).toEqual(states.slice(0, 4).map(({ current }) => current));
  });

  test("is 2 by default, so two rotations that nobody heard of are survived", async () => {
    const first = await create();
    const second = await up(first, { rotation: "1" });
    const third = await up(second, { rotation: "2" });
    expect(third.keys).toEqual([third.current, second.current, first.current]);
    const fourth = await up(third, { rotation: "3" });
    expect(fourth.keys).toEqual([fourth.current, third.current, second.current]);
  });

  test("drops keys as soon as it gets smaller, and does not bring them back", async () => {
    const state = await up(await up(await create(), { rotation: "1" }), { rotation: "2" });
    const one = await up(state, { rotation: "2", keep: 1 });
    expect(one.keys).toEqual(state.keys.slice(0, 2));
    const none = await up(one, { rotation: "2", keep: 0 });
    expect(none).toMatchObject({ current: state.current, keys: [state.current], keep: 0 });
    expect((await up(none, { rotation: "2", keep: 10 })).keys).toEqual([state.current]);
  });

  test("of 0 leaves only the new key after a rotation", async () => {
    const state = await up(await create({ keep: 0 }), { keep: 0, rotation: "1" });
    expect(state.keys).toEqual([state.current]);
  });
});

describe("initial", () => {
  test("changed to a new key makes that the current one, in place of a new one", async () => {
    const state = await create({ initial: LIVE_KEY });
    const next = await up(state, { initial: OTHER_KEY, rotation: "1", bytes: 16 });
    expect(next).toMatchObject({ current: OTHER_KEY, keys: [OTHER_KEY, LIVE_KEY], initial: OTHER_KEY });
    expect(await diff(next, { initial: OTHER_KEY, rotation: "1", bytes: 16 })).toMatchObject({
      changes: false,
    });
  });

  test("given later is taken over too", async () => {
    const state = await create();
    expect((await up(state, { initial: LIVE_KEY })).keys).toEqual([LIVE_KEY, state.current]);
  });

  test("set to an earlier key changes nothing, and a rotation with it makes a new key", async () => {
    const state = await up(await create({ initial: LIVE_KEY }), { initial: OTHER_KEY });
    const next = await up(state, { initial: LIVE_KEY, rotation: "1" });
    expect(next.keys).toEqual([next.current, OTHER_KEY, LIVE_KEY]);
    expect([OTHER_KEY, LIVE_KEY]).not.toContain(next.current);
  });
});

describe("what a preview says", () => {
  test("names the new key and how many are dropped, and shows none", async () => {
    const state = await up(await create({ initial: LIVE_KEY, keep: 1 }), { keep: 1, rotation: "1" });
    lines.length = 0;
    await diff(state, { keep: 1, rotation: "2" });
    await diff(state, { keep: 0, rotation: "1" });
    await diff(state, { keep: 0, rotation: "2" });
    await diff(state, { keep: 1, rotation: "1", initial: OTHER_KEY });
    expect(lines).toEqual([
      "acme: a new key becomes the current one",
      "acme: 1 of the earlier keys is dropped: what is signed with it is refused",
      "acme: 1 of the earlier keys is dropped: what is signed with it is refused",
      "acme: a new key becomes the current one",
      "acme: 2 of the earlier keys are dropped: what is signed with them is refused",
      "acme: warning: keep is 0, so deliveries are refused until set-webhook has run; leave keep out while a key is rotated",
      "acme: the key in initial becomes the current one",
      "acme: 1 of the earlier keys is dropped: what is signed with it is refused",
    ]);
  });

  test.each(["rotation", "bytes", "initial"])(
    "counts a %s that is not known yet as a change, and nothing as replaced",
    async (property) => {
      const state = await create({ rotation: "1" });
      expect(await diff(state, { rotation: "1", [property]: UNKNOWN })).toMatchObject({
        changes: true,
        replaces: [],
      });
      expect(lines).toEqual([]);
    },
  );

  test("counts a keep that is not known yet as a change only where it may drop a key", async () => {
    const state = await create();
    expect(await diff(state, { keep: UNKNOWN })).toMatchObject({ changes: false });
    const rotated = await up(state, { rotation: "1" });
    expect(await diff(rotated, { rotation: "1", keep: UNKNOWN })).toMatchObject({ changes: true });
  });
});

describe("read and delete", () => {
  test("read gives the state back as it is, and no inputs", async () => {
    const state = await up(await create(), { rotation: "1" });
    expect(await VerificationKey.read("the-id", state)).toEqual({ id: "the-id", props: state });
  });

  test("a read by id alone fails with invalid_config and what to do instead", async () => {
    const error: unknown = await VerificationKey.read("the-id", { name: "acme" }).catch((e: unknown) => e);
    expect(error).toMatchObject({
      code: "invalid_config",
      stack: "acme: invalid_config",
      message: expect.stringMatching(
        /acme: a verification key cannot be read by its id alone.* as initial$/,
      ) as string,
    });
  });

  test("delete has nothing to do", async () => {
    expect(await VerificationKey.delete()).toBeUndefined();
    expect(lines).toEqual([]);
  });
});
