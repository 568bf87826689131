import { expect, test } from "vitest";
import { UNKNOWN } from "../../../provider/pulumi/unknown.js";
import type { VerificationKeyState } from "../../../provider/verification-key/contract.js";
import {
  VerificationKey,
  catchLines,
  checked,
  create,
  hasChanges,
  LIVE_KEY,
  OTHER_KEY,
  up,
  type Args,
} from "./harness.js";

const lines = catchLines();

test("create makes a key of 32 random bytes, a different one each time", async () => {
  const [one, other] = [await create(), await create()];
  const { current } = one;
  expect(current).toMatch(/^[\w-]{43}$/);
  expect(one).toEqual({ name: "acme", keep: 2, bytes: 32, current, keys: [current], stateVersion: 1 });
  expect(other.current).not.toBe(current);
});

test("create adopts a live key, under a unique id that does not reveal the key", async () => {
  const inputs = await checked({ initial: LIVE_KEY, rotation: "1" });
  const [{ id, outs }, other] = [await VerificationKey.create(inputs), await VerificationKey.create(inputs)];
  expect(outs).toMatchObject({ initial: LIVE_KEY, rotation: "1", current: LIVE_KEY, keys: [LIVE_KEY] });
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(other.id).not.toBe(id);
});

test.each<[string, Args, Args]>([
  ["when rotation is first set", {}, { rotation: "1" }],
  ["when rotation changes", { rotation: "1" }, { rotation: "2" }],
  ["when bytes changes", { bytes: 32 }, { bytes: 64 }],
  ["when bytes returns to its default", { bytes: 33 }, {}],
  ["when rotation and bytes change together", { rotation: "1" }, { rotation: "2", bytes: 16 }],
])("a new key is created and becomes the first in the list %s", async (_, before, after) => {
  const state = await create(before);
  const next = await up(state, after);
  expect(next.current).not.toBe(state.current);
  expect(next.keys).toEqual([next.current, state.current]);
  expect(Buffer.from(next.current, "base64url")).toHaveLength(Number(after["bytes"] ?? 32));
  expect(await hasChanges(next, after)).toBe(false);
});

test("a changed value of initial becomes the current key, and diff names each change", async () => {
  const state = await create(LIVE);
  const after = { initial: OTHER_KEY, rotation: "1", bytes: 16 };
  const { changed } = await VerificationKey.diff("id", state, await checked(after, { name: "acme" }));
  expect(changed).toEqual(["rotation", "bytes", "initial", "current", "keys"]);
  const next = await up(state, after);
  expect(next).toMatchObject({ current: OTHER_KEY, keys: [OTHER_KEY, LIVE_KEY], initial: OTHER_KEY });
  expect(await hasChanges(next, after)).toBe(false);
});

const LIVE = { initial: LIVE_KEY };
const ROTATED_AWAY = { ...LIVE, keep: 0, rotation: "1" };

test.each<[string, Args[], Args]>([
  ["for the same arguments", [{ rotation: "1", keep: 1 }], { rotation: "1", keep: 1 }],
  ["when rotation is removed", [{ rotation: "1" }], {}],
  ["when rotation is removed and restored", [{ rotation: "1" }, {}], { rotation: "1" }],
  ["when bytes is set to the default", [{}], { bytes: 32 }],
  ["when a changed keep drops no key", [{ keep: 2 }], { keep: 0 }],
  ["when an unknown keep cannot drop a key", [{}], { keep: UNKNOWN }],
  ["when initial is removed", [LIVE], {}],
  ["when initial returns to an earlier key", [LIVE, { initial: OTHER_KEY }], LIVE],
  ["when initial is still a key that was dropped", [LIVE, ROTATED_AWAY], ROTATED_AWAY],
])("nothing changes %s", async (_, ups, again) => {
  const state = await upAll(ups);
  lines.length = 0;
  const none = { changes: false, changed: [], deleteBeforeReplace: true };
  expect(await VerificationKey.diff("id", state, await checked(again, { name: "acme" }))).toEqual(none);
  expect(lines).toEqual([]);
});

/** Returns the state after an `up` of each of these programs in order. */
async function upAll([first, ...ups]: Args[]): Promise<VerificationKeyState> {
  let state = await create(first);
  for (const args of ups) state = await up(state, args);
  return state;
}

test.each([
  [0, { keep: 0 }],
  [2, {}],
  [3, { keep: 3 }],
])("keeps the latest %i earlier keys with %j", async (kept, args) => {
  const states = [await create(args)];
  for (const rotation of "12345") states.unshift(await up(states[0]!, { ...args, rotation }));
  expect(states[0]?.keys).toEqual(states.slice(0, 1 + kept).map(({ current }) => current));
});

test("lowering keep drops keys, and raising it never restores them", async () => {
  const state = await upAll([{}, { rotation: "1" }, { rotation: "2" }]);
  const one = await up(state, { rotation: "2", keep: 1 });
  expect(one.keys).toEqual(state.keys.slice(0, 2));
  const none = await up(one, { rotation: "2", keep: 0 });
  expect(none).toMatchObject({ current: state.current, keys: [state.current], keep: 0 });
  expect((await up(none, { rotation: "2", keep: 10 })).keys).toEqual([state.current]);
});

const NEW = "acme: a new key becomes the current one";
const dropped = (count: number): string =>
  `acme: earlier keys dropped: ${count}; deliveries signed with them are rejected`;
const GAP =
  "acme: warning: keep is 0, so deliveries are rejected until set-webhook has run; " +
  "leave keep out while a key is rotated";
const INITIAL = "acme: the key in initial becomes the current one";

test.each<[Args, string[]]>([
  [{ keep: 1, rotation: "2" }, [NEW, dropped(1)]],
  [{ keep: 0, rotation: "1" }, [dropped(1)]],
  [{ keep: 0, rotation: "2" }, [NEW, dropped(2), GAP]],
  [{ keep: 1, rotation: "1", initial: OTHER_KEY }, [INITIAL, dropped(1)]],
])("a preview announces new and dropped keys without showing them: %j", async (args, said) => {
  const first = { ...LIVE, keep: 1 };
  const state = await upAll([first, { keep: 1, rotation: "1" }]);
  lines.length = 0;
  expect(await hasChanges(state, args)).toBe(true);
  expect(lines).toEqual(said);
});

test.each(["rotation", "bytes", "initial", "keep"])("an unknown %s counts as a change", async (property) => {
  const state = await upAll([{}, { rotation: "1" }]);
  lines.length = 0;
  expect(await hasChanges(state, { rotation: "1", [property]: UNKNOWN })).toBe(true);
  expect(lines).toEqual([]);
});
